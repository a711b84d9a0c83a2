declare i64 @llvm.abs.i64(i64, i1)
define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load i64, ptr %3
  %5 = trunc i64 %4 to i32
  %6 = getelementptr inbounds i64, ptr %pack, i64 3
  %7 = load i64, ptr %6
  %8 = trunc i64 %7 to i32
  %9 = getelementptr inbounds i64, ptr %pack, i64 4
  %10 = load i64, ptr %9
  %11 = trunc i64 %10 to i32
  %v_n.at = alloca i32
  %v_scale.at = alloca float
  %12 = sub i32 %8, 1
  store i32 %12, ptr %v_n.at
  %13 = sext i32 %5 to i64
  %14 = load i32, ptr %v_n.at
  %15 = sext i32 %14 to i64
  %16 = sext i32 %11 to i64
  %17 = icmp eq i64 %16, 0
  br i1 %17, label %zero, label %checked1
checked1:
  %18 = icmp sgt i64 %16, 0
  %19 = select i1 %18, i64 %13, i64 %15
  %20 = select i1 %18, i64 %15, i64 %13
  %21 = call i64 @llvm.abs.i64(i64 %16, i1 false)
  %22 = icmp ne i64 %16, 0
  %23 = icmp slt i64 %19, %20
  %24 = and i1 %23, %22
  %25 = select i1 %22, i64 %21, i64 1
  %26 = sub i64 %20, %19
  %27 = sub i64 %26, 1
  %28 = udiv i64 %27, %25
  %29 = add i64 %28, 1
  %30 = select i1 %24, i64 %29, i64 0
  %31 = getelementptr inbounds i64, ptr %pack, i64 5
  store i64 %13, ptr %31
  %32 = getelementptr inbounds i64, ptr %pack, i64 6
  store i64 %30, ptr %32
  %33 = getelementptr inbounds i64, ptr %pack, i64 7
  store i64 %16, ptr %33
  %34 = icmp slt i64 %30, 0
  br i1 %34, label %refused, label %checked2
checked2:
  %35 = icmp eq i64 %30, 0
  br i1 %35, label %none, label %prologue
prologue:
  %36 = getelementptr inbounds float, ptr %0, i64 0
  %37 = load float, ptr %36, align 1
  store float %37, ptr %v_scale.at
  %38 = load float, ptr %v_scale.at
  %39 = getelementptr inbounds i64, ptr %pack, i64 8
  store float %38, ptr %39
  ret i64 %30
none:
  ret i64 0
zero:
  ret i64 -1
refused:
  ret i64 -2
}

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_x, ptr noalias captures(none) %v_out, i32 noundef %v_first, i32 noundef %v_last, i32 noundef %v_step, i64 noundef %t_start0, i64 noundef %t_step0, float %v_scale) noinline nounwind {
entry:
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  %1 = mul i64 %lo, %t_step0
  %2 = add i64 %t_start0, %1
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %i = phi i64 [ %2, %first ], [ %i.next, %next ]
  %3 = getelementptr inbounds float, ptr %v_x, i64 %i
  %4 = load float, ptr %3, align 1
  %5 = fmul float %4, %v_scale
  %6 = getelementptr inbounds float, ptr %v_out, i64 %i
  store float %5, ptr %6, align 1
  br label %next
next:
  %i.next = add nsw i64 %i, %t_step0
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
  %4 = load i64, ptr %3
  %5 = trunc i64 %4 to i32
  %6 = getelementptr inbounds i64, ptr %pack, i64 3
  %7 = load i64, ptr %6
  %8 = trunc i64 %7 to i32
  %9 = getelementptr inbounds i64, ptr %pack, i64 4
  %10 = load i64, ptr %9
  %11 = trunc i64 %10 to i32
  %12 = getelementptr inbounds i64, ptr %pack, i64 5
  %13 = load i64, ptr %12
  %14 = getelementptr inbounds i64, ptr %pack, i64 7
  %15 = load i64, ptr %14
  %16 = getelementptr inbounds i64, ptr %pack, i64 8
  %17 = load float, ptr %16
  tail call void @loop(i64 %lo, i64 %hi, ptr %0, ptr %2, i32 %5, i32 %8, i32 %11, i64 %13, i64 %15, float %17)
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
