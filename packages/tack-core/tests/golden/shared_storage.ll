define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load i64, ptr %3
  %5 = trunc i64 %4 to i32
  %6 = sext i32 %5 to i64
  %7 = icmp slt i64 1, %6
  %8 = sub i64 %6, 1
  %9 = sub i64 %8, 1
  %10 = add i64 %9, 1
  %11 = select i1 %7, i64 %10, i64 0
  %12 = getelementptr inbounds i64, ptr %pack, i64 3
  store i64 1, ptr %12
  %13 = getelementptr inbounds i64, ptr %pack, i64 4
  store i64 %11, ptr %13
  %14 = getelementptr inbounds i64, ptr %pack, i64 5
  store i64 1, ptr %14
  %15 = icmp slt i64 %11, 0
  br i1 %15, label %refused, label %checked1
checked1:
  %16 = icmp eq i64 %11, 0
  br i1 %16, label %none, label %prologue
prologue:
  ret i64 %11
none:
  ret i64 0
zero:
  ret i64 -1
refused:
  ret i64 -2
}

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias captures(none) %v_double, ptr noalias readonly captures(none) %v_restrict, i32 noundef %v_gruf6udfe) noinline nounwind {
entry:
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = add nsw i64 1, %n
  %2 = getelementptr inbounds float, ptr %v_restrict, i64 %1
  %3 = load float, ptr %2, align 1
  %4 = getelementptr float, ptr %v_restrict, i64 %1
  %5 = getelementptr float, ptr %4, i64 -1
  %6 = load float, ptr %5, align 1
  %7 = fadd float %3, %6
  %8 = getelementptr inbounds float, ptr %v_double, i64 %1
  store float %7, ptr %8, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %9 = icmp eq i64 %n.next, %hi
  br i1 %9, label %done, label %iteration, !llvm.loop !1
done:
  ret void
}

define void @body(i64 %lo, i64 %hi, ptr noalias readonly captures(none) %pack) noinline nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load i64, ptr %3
  %5 = trunc i64 %4 to i32
  tail call void @loop(i64 %lo, i64 %hi, ptr %0, ptr %2, i32 %5)
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
