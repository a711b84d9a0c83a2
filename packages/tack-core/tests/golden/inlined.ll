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

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_x, ptr noalias readonly captures(none) %v_limit, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %v_first_above_1_first_above__.at = alloca i64
  %v_first_above_2_first_above__.at = alloca i64
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = getelementptr inbounds float, ptr %v_limit, i64 %n
  %2 = load float, ptr %1, align 1
  %3 = icmp slt i64 0, 4
  br i1 %3, label %for2, label %end2
for2:
  %for2.i = phi i64 [ 0, %iteration ], [ %for2.i.next, %next2 ]
  %4 = getelementptr inbounds float, ptr %v_x, i64 %for2.i
  %5 = load float, ptr %4, align 1
  %6 = fcmp ogt float %5, %2
  br i1 %6, label %then3, label %end3
then3:
  store i64 %for2.i, ptr %v_first_above_1_first_above__.at
  br label %region1
end3:
  br label %next2
next2:
  %for2.i.next = add nsw i64 %for2.i, 1
  %7 = icmp slt i64 %for2.i.next, 4
  br i1 %7, label %for2, label %end2, !llvm.loop !1
end2:
  store i64 -1, ptr %v_first_above_1_first_above__.at
  br label %region1
region1:
  %8 = load i64, ptr %v_first_above_1_first_above__.at
  %9 = icmp sge i64 %8, 0
  %10 = xor i1 %9, true
  br i1 %10, label %then4, label %end4
then4:
  %11 = getelementptr inbounds float, ptr %v_limit, i64 %n
  %12 = load float, ptr %11, align 1
  %13 = fneg float %12
  %14 = icmp slt i64 0, 4
  br i1 %14, label %for6, label %end6
for6:
  %for6.i = phi i64 [ 0, %then4 ], [ %for6.i.next, %next6 ]
  %15 = getelementptr inbounds float, ptr %v_x, i64 %for6.i
  %16 = load float, ptr %15, align 1
  %17 = fcmp ogt float %16, %13
  br i1 %17, label %then7, label %end7
then7:
  store i64 %for6.i, ptr %v_first_above_2_first_above__.at
  br label %region5
end7:
  br label %next6
next6:
  %for6.i.next = add nsw i64 %for6.i, 1
  %18 = icmp slt i64 %for6.i.next, 4
  br i1 %18, label %for6, label %end6, !llvm.loop !2
end6:
  store i64 -1, ptr %v_first_above_2_first_above__.at
  br label %region5
region5:
  br label %end4
end4:
  %19 = load i64, ptr %v_first_above_2_first_above__.at
  %20 = icmp sgt i64 %19, 1
  %21 = or i1 %9, %20
  %22 = select i1 %21, i64 %8, i64 7
  %23 = trunc i64 %22 to i32
  %24 = getelementptr inbounds i32, ptr %v_out, i64 %n
  store i32 %23, ptr %24, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %25 = icmp eq i64 %n.next, %hi
  br i1 %25, label %done, label %iteration, !llvm.loop !3
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
!1 = distinct !{!1, !0, !4}
!2 = distinct !{!2, !0, !4}
!3 = distinct !{!3, !0, !4}
!4 = !{!"llvm.loop.interleave.count", i32 1}
