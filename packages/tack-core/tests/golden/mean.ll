define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load i64, ptr %3
  %v_n.at = alloca i64
  store i64 %4, ptr %v_n.at
  %5 = load i64, ptr %v_n.at
  %6 = icmp slt i64 0, %5
  %7 = sub i64 %5, 0
  %8 = sub i64 %7, 1
  %9 = add i64 %8, 1
  %10 = select i1 %6, i64 %9, i64 0
  %11 = getelementptr inbounds i64, ptr %pack, i64 3
  store i64 0, ptr %11
  %12 = getelementptr inbounds i64, ptr %pack, i64 4
  store i64 %10, ptr %12
  %13 = getelementptr inbounds i64, ptr %pack, i64 5
  store i64 1, ptr %13
  %14 = icmp slt i64 %10, 0
  br i1 %14, label %refused, label %checked1
checked1:
  %15 = icmp eq i64 %10, 0
  br i1 %15, label %none, label %prologue
prologue:
  ret i64 %10
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
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = getelementptr inbounds float, ptr %v_x, i64 %n
  %2 = load float, ptr %1, align 1
  %3 = getelementptr inbounds float, ptr %v_x, i64 %n
  %4 = load float, ptr %3, align 1
  %5 = fmul float %2, %4
  %6 = getelementptr inbounds float, ptr %v_out, i64 %n
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

define void @finish(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %v_total.at = alloca float
  store float 0x0000000000000000, ptr %v_total.at
  %3 = getelementptr inbounds float, ptr %2, i64 0
  %4 = load float, ptr %3, align 1
  %5 = getelementptr inbounds float, ptr %2, i64 7
  %6 = load float, ptr %5, align 1
  %7 = fadd float %4, %6
  store float %7, ptr %v_total.at
  %8 = load float, ptr %v_total.at
  %9 = fdiv float %8, 0x4020000000000000
  %10 = fpext float %9 to double
  %11 = getelementptr inbounds i64, ptr %pack, i64 6
  store double %10, ptr %11
  ret void
}

attributes #0 = { nobuiltin nounwind willreturn memory(none) }
!0 = !{!"llvm.loop.unroll.runtime.disable"}
!1 = distinct !{!1, !0, !2}
!2 = !{!"llvm.loop.interleave.count", i32 1}
