declare i8 @llvm.ctlz.i8(i8, i1)
declare i8 @llvm.ctpop.i8(i8)
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
  %10 = getelementptr inbounds i64, ptr %pack, i64 4
  store i64 0, ptr %10
  %11 = getelementptr inbounds i64, ptr %pack, i64 5
  store i64 %9, ptr %11
  %12 = getelementptr inbounds i64, ptr %pack, i64 6
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

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_x, ptr noalias readonly captures(none) %v_code, ptr noundef %t_print) noinline nounwind {
entry:
  %t_printed = alloca [10 x i64]
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = getelementptr inbounds float, ptr %v_x, i64 %n
  %2 = load float, ptr %1, align 1
  %3 = fcmp ogt float %2, 0x3FF0000000000000
  br i1 %3, label %then1, label %end1
then1:
  %4 = getelementptr inbounds float, ptr %v_x, i64 %n
  %5 = load float, ptr %4, align 1
  %6 = fpext float %5 to double
  %7 = getelementptr inbounds float, ptr %v_x, i64 %n
  %8 = load float, ptr %7, align 1
  %9 = bitcast float %8 to i32
  %10 = zext i32 %9 to i64
  %11 = getelementptr inbounds i8, ptr %v_code, i64 %n
  %12 = load i8, ptr %11, align 1
  %13 = call i8 @llvm.ctlz.i8(i8 %12, i1 false)
  %14 = getelementptr inbounds i8, ptr %v_code, i64 %n
  %15 = load i8, ptr %14, align 1
  %16 = call i8 @llvm.ctpop.i8(i8 %15)
  %17 = add i8 %13, %16
  %18 = zext i8 %17 to i64
  %19 = getelementptr inbounds float, ptr %v_x, i64 %n
  %20 = load float, ptr %19, align 1
  %21 = fcmp ogt float %20, 0x4000000000000000
  %22 = zext i1 %21 to i64
  %23 = getelementptr inbounds i64, ptr %t_printed, i64 0
  store i64 %n, ptr %23
  %24 = getelementptr inbounds i64, ptr %t_printed, i64 1
  store double %6, ptr %24
  %25 = getelementptr inbounds i64, ptr %t_printed, i64 2
  store i64 %10, ptr %25
  %26 = getelementptr inbounds i64, ptr %t_printed, i64 3
  store i64 %18, ptr %26
  %27 = getelementptr inbounds i64, ptr %t_printed, i64 4
  store i64 %22, ptr %27
  call void %t_print(i64 0, ptr %t_printed)
  br label %end1
end1:
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %28 = icmp eq i64 %n.next, %hi
  br i1 %28, label %done, label %iteration, !llvm.loop !1
done:
  ret void
}

define void @body(i64 %lo, i64 %hi, ptr noalias readonly captures(none) %pack) noinline nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 3
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
!1 = distinct !{!1, !0, !2}
!2 = !{!"llvm.loop.interleave.count", i32 1}
