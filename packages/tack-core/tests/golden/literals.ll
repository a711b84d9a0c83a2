declare double @llvm.fma.f64(double, double, double)
define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = icmp slt i64 0, 3
  %2 = sub i64 3, 0
  %3 = sub i64 %2, 1
  %4 = add i64 %3, 1
  %5 = select i1 %1, i64 %4, i64 0
  %6 = getelementptr inbounds i64, ptr %pack, i64 1
  store i64 0, ptr %6
  %7 = getelementptr inbounds i64, ptr %pack, i64 2
  store i64 %5, ptr %7
  %8 = getelementptr inbounds i64, ptr %pack, i64 3
  store i64 1, ptr %8
  %9 = icmp slt i64 %5, 0
  br i1 %9, label %refused, label %checked1
checked1:
  %10 = icmp eq i64 %5, 0
  br i1 %10, label %none, label %prologue
prologue:
  ret i64 %5
none:
  ret i64 0
zero:
  ret i64 -1
refused:
  ret i64 -2
}

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = sitofp i64 %n to double
  %2 = call double @llvm.fma.f64(double 0x3FB999999999999A, double %1, double 0x400921FB54442D18)
  %3 = fadd double %2, 0x3FD5555555555555
  %4 = icmp ne i64 %n, 0
  %5 = select i1 %4, double 0x7FF0000000000000, double 0x8000000000000000
  %6 = fadd double %3, %5
  %7 = getelementptr inbounds double, ptr %v_out, i64 %n
  store double %6, ptr %7, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %8 = icmp eq i64 %n.next, %hi
  br i1 %8, label %done, label %iteration, !llvm.loop !1
done:
  ret void
}

define void @body(i64 %lo, i64 %hi, ptr noalias readonly captures(none) %pack) noinline nounwind {
entry:
  %0 = load ptr, ptr %pack
  tail call void @loop(i64 %lo, i64 %hi, ptr %0)
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
