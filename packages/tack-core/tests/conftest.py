"""Settings of the whole suite: kernels are compiled from scratch, and random tests are the same in every run.

`TACK_CACHE=write pytest` keeps what it compiles. Run twice, most of the second run comes from the disk: the summary says how
much.
"""

import os
from collections import Counter

import pytest

os.environ.setdefault("TACK_CACHE", "off")

from hypothesis import HealthCheck, settings

settings.register_profile("tack", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tack")

lookups: Counter[str] = Counter()  # in the disk cache of the whole run, by whether they found something

# Tests that count what is lowered and compiled, or change how that is done: their kernels are always compiled from scratch.
COUNTING = (
    "test_cache_lifetimes", "test_cache_threads", "test_class_lifetime", "test_cpu_jit", "test_disjoint_arrays", "test_dispatch",
    "test_hit_or_miss", "test_kernel_cache", "test_kernel_tools", "test_key_soundness", "test_names", "test_rules_kernel",
    "test_source_check", "test_template_layouts", "test_threads", "test_variant_cache", "test_warm_path", "test_worked_examples",
)  # fmt: skip

if os.environ["TACK_CACHE"] != "off":

    @pytest.fixture(autouse=True)
    def _from_scratch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        if request.module.__name__ in COUNTING:
            monkeypatch.setenv("TACK_CACHE", "off")


@pytest.fixture(autouse=True, scope="session")
def messages_have_one_form():
    """Whatever message a test gets: it ends without a full stop, and what to write instead is whole sentences."""
    from tack.errors import Diagnostic

    text = Diagnostic.text

    def checked(self):
        assert self.message and self.message[-1] not in ".!? \n", f"a message ends without a full stop: {self.message!r}"
        assert not self.remedy or self.remedy[-1] in ".?", f"a remedy ends with a full stop: {self.remedy!r}"
        return text(self)

    Diagnostic.text = checked
    yield
    Diagnostic.text = text


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the texts in tests/golden anew")


def pytest_configure(config: pytest.Config) -> None:
    """Watches the stores of the run's own directory: tests have others of theirs."""
    if os.environ["TACK_CACHE"] == "off":
        return
    from tack.runtime import cache_mode, cache_store

    config.stash[STORES] = stores = []
    root, make = cache_mode.folder(), cache_store.Store.__init__

    def noted(store, folder, *args, **kwargs):
        make(store, folder, *args, **kwargs)
        if folder == root:
            stores.append(store)

    cache_store.Store.__init__ = noted


STORES = pytest.StashKey[list]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    for store in session.config.stash.get(STORES, []):
        for counts in store.stats.values():
            lookups.update(hits=counts.hits, others=counts.misses + counts.bad)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["lookups"] = dict(lookups)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    """What a worker of pytest-xdist has counted."""
    lookups.update(getattr(node, "workeroutput", {}).get("lookups", {}))


def pytest_terminal_summary(terminalreporter):
    """What the conformance suite ran on each device, and the share of the disk cache."""
    lines = [v for r in terminalreporter.getreports("passed") for name, v in r.user_properties if name == "conformance"]
    if lines:
        terminalreporter.section("conformance")
        for line in lines:
            terminalreporter.write_line(line)
    total = lookups.total()
    if total:
        share = 100 * lookups["hits"] / total
        terminalreporter.write_line(f"disk cache: {lookups['hits']} of {total} lookups served ({share:.0f}%)")
