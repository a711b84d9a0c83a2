"""The intermediate representation: types, the op table, nodes, passes and the reference interpreter. Knows no Python AST."""
