declare float @llvm.fabs.f32(float)
declare float @llvm.roundeven.f32(float)
declare float @llvm.sqrt.f32(float)
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
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = getelementptr inbounds float, ptr %v_x, i64 %n
  %2 = load float, ptr %1, align 1
  %3 = fcmp olt float %2, 0x3FF0000000000000
  %4 = select i1 %3, float %2, float 0x3FF0000000000000
  %5 = getelementptr inbounds float, ptr %v_x, i64 %n
  %6 = load float, ptr %5, align 1
  %7 = getelementptr inbounds float, ptr %v_x, i64 %n
  %8 = load float, ptr %7, align 1
  %9 = call float @llvm.fabs.f32(float %8)
  %10 = fcmp ogt float %6, %9
  %11 = select i1 %10, float %6, float %9
  %12 = bitcast float %6 to i32
  %13 = bitcast float %9 to i32
  %14 = and i32 %12, %13
  %15 = bitcast i32 %14 to float
  %16 = fcmp oeq float %6, %9
  %17 = select i1 %16, float %15, float %11
  %18 = fcmp uno float %9, %9
  %19 = select i1 %18, float %6, float %17
  %20 = fcmp ogt float %19, 0x3FE0000000000000
  %21 = select i1 %20, float %19, float 0x3FE0000000000000
  %22 = fadd float %4, %21
  %23 = getelementptr inbounds float, ptr %v_x, i64 %n
  %24 = load float, ptr %23, align 1
  %25 = call float @llvm.roundeven.f32(float %24)
  %26 = fadd float %22, %25
  %27 = getelementptr inbounds float, ptr %v_x, i64 %n
  %28 = load float, ptr %27, align 1
  %29 = fmul float %28, %28
  %30 = fmul float %29, %28
  %31 = fadd float %26, %30
  %32 = getelementptr inbounds float, ptr %v_x, i64 %n
  %33 = load float, ptr %32, align 1
  %34 = fdiv float 0x3FF0000000000000, %33
  %35 = fadd float %31, %34
  %36 = getelementptr inbounds float, ptr %v_x, i64 %n
  %37 = load float, ptr %36, align 1
  %38 = call float @llvm.sqrt.f32(float %37)
  %39 = fadd float %35, %38
  %40 = getelementptr inbounds float, ptr %v_out, i64 %n
  store float %39, ptr %40, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %41 = icmp eq i64 %n.next, %hi
  br i1 %41, label %done, label %iteration, !llvm.loop !1
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
