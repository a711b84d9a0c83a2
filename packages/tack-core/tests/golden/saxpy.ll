declare float @llvm.fma.f32(float, float, float)
define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load double, ptr %3
  %5 = fptrunc double %4 to float
  %6 = getelementptr inbounds i64, ptr %pack, i64 3
  %7 = load i64, ptr %6
  %8 = icmp slt i64 0, %7
  %9 = sub i64 %7, 0
  %10 = sub i64 %9, 1
  %11 = add i64 %10, 1
  %12 = select i1 %8, i64 %11, i64 0
  %13 = getelementptr inbounds i64, ptr %pack, i64 4
  store i64 0, ptr %13
  %14 = getelementptr inbounds i64, ptr %pack, i64 5
  store i64 %12, ptr %14
  %15 = getelementptr inbounds i64, ptr %pack, i64 6
  store i64 1, ptr %15
  %16 = icmp slt i64 %12, 0
  br i1 %16, label %refused, label %checked1
checked1:
  %17 = icmp eq i64 %12, 0
  br i1 %17, label %none, label %prologue
prologue:
  ret i64 %12
none:
  ret i64 0
zero:
  ret i64 -1
refused:
  ret i64 -2
}

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_x, ptr noalias captures(none) %v_y, float noundef %v_a) noinline nounwind {
entry:
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = getelementptr inbounds float, ptr %v_x, i64 %n
  %2 = load float, ptr %1, align 1
  %3 = getelementptr inbounds float, ptr %v_y, i64 %n
  %4 = load float, ptr %3, align 1
  %5 = call float @llvm.fma.f32(float %v_a, float %2, float %4)
  %6 = getelementptr inbounds float, ptr %v_y, i64 %n
  store float %5, ptr %6, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %7 = icmp eq i64 %n.next, %hi
  br i1 %7, label %done, label %iteration, !llvm.loop !1
done:
  ret void
}

define void @body(i64 %lo, i64 %hi, ptr noalias readonly captures(none) %pack) noinline nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load double, ptr %3
  %5 = fptrunc double %4 to float
  tail call void @loop(i64 %lo, i64 %hi, ptr %0, ptr %2, float %5)
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
