define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load ptr, ptr %3
  %5 = getelementptr inbounds i64, ptr %pack, i64 3
  %6 = load i64, ptr %5
  %7 = icmp slt i64 0, %6
  %8 = sub i64 %6, 0
  %9 = sub i64 %8, 1
  %10 = add i64 %9, 1
  %11 = select i1 %7, i64 %10, i64 0
  %12 = getelementptr inbounds i64, ptr %pack, i64 4
  store i64 0, ptr %12
  %13 = getelementptr inbounds i64, ptr %pack, i64 5
  store i64 %11, ptr %13
  %14 = getelementptr inbounds i64, ptr %pack, i64 6
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

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_start, ptr noalias readonly captures(none) %v_value, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %v_total.at = alloca float
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  store float 0x0000000000000000, ptr %v_total.at
  %1 = getelementptr inbounds i32, ptr %v_start, i64 %n
  %2 = load i32, ptr %1, align 1
  %3 = sext i32 %2 to i64
  %4 = getelementptr i32, ptr %v_start, i64 %n
  %5 = getelementptr i32, ptr %4, i64 1
  %6 = load i32, ptr %5, align 1
  %7 = sext i32 %6 to i64
  %8 = icmp slt i64 %3, %7
  br i1 %8, label %for1, label %end1
for1:
  %for1.i = phi i64 [ %3, %iteration ], [ %for1.i.next, %next1 ]
  %9 = load float, ptr %v_total.at
  %10 = getelementptr inbounds float, ptr %v_value, i64 %for1.i
  %11 = load float, ptr %10, align 1
  %12 = fadd float %9, %11
  store float %12, ptr %v_total.at
  br label %next1
next1:
  %for1.i.next = add nsw i64 %for1.i, 1
  %13 = icmp slt i64 %for1.i.next, %7
  br i1 %13, label %for1, label %end1, !llvm.loop !1
end1:
  %14 = load float, ptr %v_total.at
  %15 = getelementptr inbounds float, ptr %v_out, i64 %n
  store float %14, ptr %15, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %16 = icmp eq i64 %n.next, %hi
  br i1 %16, label %done, label %iteration, !llvm.loop !2
done:
  ret void
}

define void @body(i64 %lo, i64 %hi, ptr noalias readonly captures(none) %pack) noinline nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load ptr, ptr %3
  tail call void @loop(i64 %lo, i64 %hi, ptr %0, ptr %2, ptr %4)
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
!1 = distinct !{!1, !0, !3}
!2 = distinct !{!2, !0, !3}
!3 = !{!"llvm.loop.interleave.count", i32 1}
