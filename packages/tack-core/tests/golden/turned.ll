declare float @llvm.fma.f32(float, float, float)
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

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_points, ptr noalias readonly captures(none) %v_turns, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %v_v.at = alloca float
  %v_v_1.at = alloca float
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = and i64 %n, 1
  %2 = mul i64 %1, 4
  %3 = getelementptr inbounds float, ptr %v_turns, i64 %2
  %4 = load float, ptr %3, align 1
  %5 = and i64 %n, 1
  %6 = mul i64 %5, 4
  %7 = getelementptr float, ptr %v_turns, i64 %6
  %8 = getelementptr float, ptr %7, i64 1
  %9 = load float, ptr %8, align 1
  %10 = and i64 %n, 1
  %11 = mul i64 %10, 4
  %12 = getelementptr float, ptr %v_turns, i64 %11
  %13 = getelementptr float, ptr %12, i64 2
  %14 = load float, ptr %13, align 1
  %15 = and i64 %n, 1
  %16 = mul i64 %15, 4
  %17 = getelementptr float, ptr %v_turns, i64 %16
  %18 = getelementptr float, ptr %17, i64 3
  %19 = load float, ptr %18, align 1
  %20 = mul i64 %n, 2
  %21 = getelementptr inbounds float, ptr %v_points, i64 %20
  %22 = load float, ptr %21, align 1
  %23 = mul i64 %n, 2
  %24 = getelementptr float, ptr %v_points, i64 %23
  %25 = getelementptr float, ptr %24, i64 1
  %26 = load float, ptr %25, align 1
  %27 = fmul float %4, %22
  %28 = fmul float %14, %22
  %29 = call float @llvm.fma.f32(float %9, float %26, float %27)
  %30 = call float @llvm.fma.f32(float %29, float 0x4000000000000000, float 0x3FD0000000000000)
  store float %30, ptr %v_v.at
  %31 = call float @llvm.fma.f32(float %19, float %26, float %28)
  %32 = call float @llvm.fma.f32(float %31, float 0x4000000000000000, float 0xBFE0000000000000)
  store float %32, ptr %v_v_1.at
  %33 = and i64 %n, 1
  %34 = mul i64 %n, 2
  %35 = getelementptr inbounds float, ptr %v_points, i64 %34
  %36 = load float, ptr %35, align 1
  %37 = mul i64 %n, 2
  %38 = getelementptr float, ptr %v_points, i64 %37
  %39 = getelementptr float, ptr %38, i64 1
  %40 = load float, ptr %39, align 1
  %41 = load float, ptr %v_v.at
  %42 = fmul float %41, %36
  %43 = icmp eq i64 %33, 0
  %44 = load float, ptr %v_v.at
  %45 = load float, ptr %v_v_1.at
  %46 = select i1 %43, float %44, float %45
  %47 = load float, ptr %v_v_1.at
  %48 = call float @llvm.fma.f32(float %47, float %40, float %42)
  %49 = fadd float %46, %48
  %50 = icmp eq i64 %33, 0
  br i1 %50, label %then1, label %end1
then1:
  store float %49, ptr %v_v.at
  br label %end1
end1:
  %51 = icmp eq i64 %33, 1
  br i1 %51, label %then2, label %end2
then2:
  store float %49, ptr %v_v_1.at
  br label %end2
end2:
  %52 = load float, ptr %v_v.at
  %53 = fcmp olt float %52, 0x0000000000000000
  %54 = load float, ptr %v_v_1.at
  %55 = load float, ptr %v_v.at
  %56 = select i1 %53, float %54, float %55
  %57 = mul i64 %n, 2
  %58 = getelementptr inbounds float, ptr %v_out, i64 %57
  store float %56, ptr %58, align 1
  %59 = load float, ptr %v_v_1.at
  %60 = fcmp olt float %59, 0x0000000000000000
  %61 = load float, ptr %v_v.at
  %62 = load float, ptr %v_v_1.at
  %63 = select i1 %60, float %61, float %62
  %64 = mul i64 %n, 2
  %65 = getelementptr float, ptr %v_out, i64 %64
  %66 = getelementptr float, ptr %65, i64 1
  store float %63, ptr %66, align 1
  %67 = mul i64 %n, 2
  %68 = getelementptr inbounds float, ptr %v_out, i64 %67
  %69 = load float, ptr %68, align 1
  %70 = fsub float %69, 0x3FF0000000000000
  %71 = mul i64 %n, 2
  %72 = getelementptr inbounds float, ptr %v_out, i64 %71
  store float %70, ptr %72, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %73 = icmp eq i64 %n.next, %hi
  br i1 %73, label %done, label %iteration, !llvm.loop !1
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
!1 = distinct !{!1, !0, !2}
!2 = !{!"llvm.loop.interleave.count", i32 1}
