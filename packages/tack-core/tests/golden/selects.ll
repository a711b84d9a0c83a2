declare double @llvm.copysign.f64(double, double)
define internal double @tack.fmod.slow.f64(double %a, double %b) noinline cold nounwind {
  %value = frem double %a, %b
  ret double %value
}

declare double @llvm.fma.f64(double, double, double)
declare double @llvm.fabs.f64(double)
declare double @llvm.trunc.f64(double)
define internal double @tack.fmod.f64(double %a, double %b) alwaysinline nounwind {
  %q = fdiv double %a, %b
  %q.abs = call double @llvm.fabs.f64(double %q)
  %b.abs = call double @llvm.fabs.f64(double %b)
  %small = fcmp olt double %q.abs, 0x4320000000000000
  %above = fcmp oge double %b.abs, 0x0170000000000000
  %below = fcmp ole double %b.abs, 0x7E70000000000000
  %usual = and i1 %above, %below
  %fast = and i1 %small, %usual
  br i1 %fast, label %quick, label %library
quick:
  %whole = call double @llvm.trunc.f64(double %q)
  %minus = fneg double %whole
  %r = call double @llvm.fma.f64(double %minus, double %b, double %a)
  %back = call double @llvm.copysign.f64(double %b.abs, double %a)
  %r.back = fadd double %r, %back
  %r.signed = call double @llvm.copysign.f64(double %r, double %a)
  %over = fcmp une double %r, %r.signed
  %exact = select i1 %over, double %r.back, double %r.signed
  ret double %exact
library:
  %value = call double @tack.fmod.slow.f64(double %a, double %b)
  ret double %value
}

declare double @llvm.floor.f64(double)
define internal double @tack.floordiv.f64(double %a, double %b) alwaysinline nounwind {
  %ratio = fdiv double %a, %b
  %r = call double @tack.fmod.f64(double %a, double %b)
  %less = fsub double %a, %r
  %q = fdiv double %less, %b
  %rest = fcmp une double %r, 0x0000000000000000
  %b.below = fcmp olt double %b, 0x0000000000000000
  %r.below = fcmp olt double %r, 0x0000000000000000
  %opposite = xor i1 %b.below, %r.below
  %down = and i1 %rest, %opposite
  %q.less = fsub double %q, 0x3FF0000000000000
  %q.down = select i1 %down, double %q.less, double %q
  %floor = call double @llvm.floor.f64(double %q.down)
  %gap = fsub double %q.down, %floor
  %short = fcmp ogt double %gap, 0x3FE0000000000000
  %floor.up = fadd double %floor, 0x3FF0000000000000
  %snapped = select i1 %short, double %floor.up, double %floor
  %some = fcmp une double %q.down, 0x0000000000000000
  %none = call double @llvm.copysign.f64(double 0x0000000000000000, double %ratio)
  %whole = select i1 %some, double %snapped, double %none
  %byzero = fcmp oeq double %b, 0x0000000000000000
  %value = select i1 %byzero, double %ratio, double %whole
  ret double %value
}

define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = icmp slt i64 -1, 9
  %4 = sub i64 9, -1
  %5 = sub i64 %4, 1
  %6 = udiv i64 %5, 3
  %7 = add i64 %6, 1
  %8 = select i1 %3, i64 %7, i64 0
  %9 = getelementptr inbounds i64, ptr %pack, i64 2
  store i64 9, ptr %9
  %10 = getelementptr inbounds i64, ptr %pack, i64 3
  store i64 %8, ptr %10
  %11 = getelementptr inbounds i64, ptr %pack, i64 4
  store i64 -3, ptr %11
  %12 = icmp slt i64 %8, 0
  br i1 %12, label %refused, label %checked1
checked1:
  %13 = icmp eq i64 %8, 0
  br i1 %13, label %none, label %prologue
prologue:
  ret i64 %8
none:
  ret i64 0
zero:
  ret i64 -1
refused:
  ret i64 -2
}

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_x, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  %1 = mul i64 %lo, -3
  %2 = add i64 9, %1
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %i = phi i64 [ %2, %first ], [ %i.next, %next ]
  %3 = getelementptr inbounds double, ptr %v_x, i64 %i
  %4 = load double, ptr %3, align 1
  %5 = fcmp ogt double %4, 0x0000000000000000
  %6 = fcmp oeq double %4, 0x4000000000000000
  %7 = xor i1 %6, true
  %8 = and i1 %5, %7
  %9 = call double @llvm.copysign.f64(double %4, double 0xBFF0000000000000)
  %10 = select i1 %8, double %4, double %9
  %11 = call double @tack.floordiv.f64(double %10, double 0x3FD3333333333333)
  %12 = getelementptr inbounds double, ptr %v_out, i64 %i
  store double %11, ptr %12, align 1
  br label %next
next:
  %i.next = add nsw i64 %i, -3
  %n.next = add nuw nsw i64 %n, 1
  %13 = icmp eq i64 %n.next, %hi
  br i1 %13, label %done, label %iteration, !llvm.loop !1
done:
  ret void
}

define void @body(i64 %lo, i64 %hi, ptr noalias readonly captures(none) %pack) noinline nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  tail call void @loop(i64 %lo, i64 %hi, ptr %0, ptr %2)
  ret void
}

define i64 @run(ptr %pack, i64 %serial_max) nounwind {
  %n = call i64 @enter(ptr %pack)
  %some = icmp sgt i64 %n, 0
  %few = icmp sle i64 %n, %serial_max
  %here = and i1 %some, %few
  br i1 %here, label %serial, label %other
serial:
  call void @body(i64 0, i64 %n, ptr %pack)
  ret i64 0
other:
  ret i64 %n
}

attributes #0 = { nobuiltin nounwind willreturn memory(none) }
!0 = !{!"llvm.loop.unroll.runtime.disable"}
!1 = distinct !{!1, !0, !2}
!2 = !{!"llvm.loop.interleave.count", i32 1}
