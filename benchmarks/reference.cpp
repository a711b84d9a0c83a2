// The loops that times are divided by, as a good engineer writes them in C++: -O3 -march=native, no fast math.
// Every function takes the number of threads as its last argument; 1 starts no team.
#include <cstdint>
#include <omp.h>
#define API extern "C" __attribute__((visibility("default")))
#define R __restrict
typedef int64_t I;
typedef float F;

template <class B> __attribute__((noinline)) static void chunk(const B& body, I lo, I hi) { body(lo, hi); }

template <class B> static inline void par(I n, int nt, const B& body) {
  if (nt <= 1) {
    chunk(body, (I)0, n);
    return;
  }
#pragma omp parallel num_threads(nt)
  {
    I t = omp_get_thread_num(), T = omp_get_num_threads();
    chunk(body, n * t / T, n * (t + 1) / T);
  }
}

API void c_saxpy(const F* R x, const F* R y, F* R o, F a, I n, int nt) {
  par(n, nt, [&](I b, I e) {
#pragma omp simd
    for (I i = b; i < e; i++) o[i] = a * x[i] + y[i];
  });
}

API void c_stencil2d(const F* R u, F* R o, F c, I n, I m, int nt) {
  par(n - 2, nt, [&](I b, I e) {
    for (I i = b + 1; i < e + 1; i++) {
      const F* R p = u + i * m;
      F* R q = o + i * m;
#pragma omp simd
      for (I j = 1; j < m - 1; j++) q[j] = p[j] + c * (p[j - 1] + p[j + 1] + p[j - m] + p[j + m] - 4.f * p[j]);
    }
  });
}

API void c_stencil3d(const F* R u, F* R o, F c, I n, int nt) {
  I m = n * n;
  par(n - 2, nt, [&](I b, I e) {
    for (I i = b + 1; i < e + 1; i++)
      for (I j = 1; j < n - 1; j++) {
        const F* R p = u + i * m + j * n;
        F* R q = o + i * m + j * n;
#pragma omp simd
        for (I k = 1; k < n - 1; k++)
          q[k] = p[k] + c * (p[k - 1] + p[k + 1] + p[k - n] + p[k + n] + p[k - m] + p[k + m] - 6.f * p[k]);
      }
  });
}

API void c_spmv(const int32_t* R ptr, const int32_t* R idx, const double* R v, const double* R x, double* R y, I n, int nt) {
  par(n, nt, [&](I b, I e) {
    for (I i = b; i < e; i++) {
      double s = 0;
      for (int32_t k = ptr[i]; k < ptr[i + 1]; k++) s += v[k] * x[idx[k]];
      y[i] = s;
    }
  });
}

// What a plain ctypes call of 1, 3 and 8 arrays and a scalar costs, with no check at all.
API void c_k1(F* R x, F a, I n) {
  for (I i = 0; i < n; i++) x[i] = x[i] * a;
}

API void c_k3(const F* R x, const F* R y, F* R o, F a, I n) {
  for (I i = 0; i < n; i++) o[i] = a * (x[i] + y[i]);
}

API void c_k8(const F* R a, const F* R b, const F* R c, const F* R d, const F* R e, const F* R f, const F* R g, F* R o, F s, I n) {
  for (I i = 0; i < n; i++) o[i] = s * (a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i]);
}
