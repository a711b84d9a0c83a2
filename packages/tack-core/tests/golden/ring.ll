declare i64 @llvm.smax.i64(i64, i64)
define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load i64, ptr %3
  %5 = icmp slt i64 0, %4
  %6 = sub i64 %4, 0
  %7 = sub i64 %6, 1
  %8 = add i64 %7, 1
  %9 = select i1 %5, i64 %8, i64 0
  %10 = getelementptr inbounds i64, ptr %pack, i64 3
  store i64 0, ptr %10
  %11 = getelementptr inbounds i64, ptr %pack, i64 4
  store i64 %9, ptr %11
  %12 = getelementptr inbounds i64, ptr %pack, i64 5
  store i64 1, ptr %12
  %13 = icmp slt i64 %9, 0
  br i1 %13, label %refused, label %checked1
checked1:
  %14 = icmp eq i64 %9, 0
  br i1 %14, label %none, label %prologue
prologue:
  ret i64 %9
none:
  ret i64 0
zero:
  ret i64 -1
refused:
  ret i64 -2
}

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_x, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %v_total.at = alloca float
  %v_last = alloca [4 x float], align 16
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = icmp slt i64 0, 4
  br i1 %1, label %for1, label %end1
for1:
  %for1.i = phi i64 [ 0, %iteration ], [ %for1.i.next, %next1 ]
  %2 = sub i64 %n, %for1.i
  %3 = call i64 @llvm.smax.i64(i64 %2, i64 0)
  %4 = getelementptr inbounds float, ptr %v_x, i64 %3
  %5 = load float, ptr %4, align 1
  %6 = getelementptr inbounds float, ptr %v_last, i64 %for1.i
  store float %5, ptr %6, align 1
  br label %next1
next1:
  %for1.i.next = add nsw i64 %for1.i, 1
  %7 = icmp slt i64 %for1.i.next, 4
  br i1 %7, label %for1, label %end1, !llvm.loop !1
end1:
  store float 0x0000000000000000, ptr %v_total.at
  %8 = icmp slt i64 0, 4
  br i1 %8, label %for2, label %end2
for2:
  %for2.i = phi i64 [ 0, %end1 ], [ %for2.i.next, %next2 ]
  %9 = load float, ptr %v_total.at
  %10 = mul i64 %for2.i, -1
  %11 = getelementptr float, ptr %v_last, i64 %10
  %12 = getelementptr float, ptr %11, i64 3
  %13 = load float, ptr %12, align 1
  %14 = freeze float %13
  %15 = fadd float %9, %14
  store float %15, ptr %v_total.at
  br label %next2
next2:
  %for2.i.next = add nsw i64 %for2.i, 1
  %16 = icmp slt i64 %for2.i.next, 4
  br i1 %16, label %for2, label %end2, !llvm.loop !2
end2:
  %17 = load float, ptr %v_total.at
  %18 = getelementptr inbounds float, ptr %v_out, i64 %n
  store float %17, ptr %18, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %19 = icmp eq i64 %n.next, %hi
  br i1 %19, label %done, label %iteration, !llvm.loop !3
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
!1 = distinct !{!1, !0, !4}
!2 = distinct !{!2, !0, !4}
!3 = distinct !{!3, !0, !4}
!4 = !{!"llvm.loop.interleave.count", i32 1}
