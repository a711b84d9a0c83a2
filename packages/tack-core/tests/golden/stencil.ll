declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
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
  %8 = sub i64 %7, 1
  %9 = icmp slt i64 1, %8
  %10 = sub i64 %8, 1
  %11 = sub i64 %10, 1
  %12 = add i64 %11, 1
  %13 = select i1 %9, i64 %12, i64 0
  %14 = icmp slt i64 1, 4
  %15 = sub i64 4, 1
  %16 = sub i64 %15, 1
  %17 = add i64 %16, 1
  %18 = select i1 %14, i64 %17, i64 0
  %19 = getelementptr inbounds i64, ptr %pack, i64 4
  store i64 1, ptr %19
  %20 = getelementptr inbounds i64, ptr %pack, i64 5
  store i64 %13, ptr %20
  %21 = getelementptr inbounds i64, ptr %pack, i64 6
  store i64 1, ptr %21
  %22 = getelementptr inbounds i64, ptr %pack, i64 7
  store i64 1, ptr %22
  %23 = getelementptr inbounds i64, ptr %pack, i64 8
  store i64 %18, ptr %23
  %24 = getelementptr inbounds i64, ptr %pack, i64 9
  store i64 1, ptr %24
  %25 = icmp eq i64 %13, 0
  %26 = icmp eq i64 %18, 0
  %27 = or i1 %25, %26
  %28 = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %13, i64 %18)
  %29 = extractvalue { i64, i1 } %28, 0
  %30 = extractvalue { i64, i1 } %28, 1
  %31 = or i1 false, %30
  %32 = xor i1 %27, true
  %33 = select i1 %27, i64 0, i64 %29
  %34 = and i1 %31, %32
  %35 = icmp slt i64 %33, 0
  %36 = or i1 %34, %35
  br i1 %36, label %refused, label %checked1
checked1:
  %37 = icmp eq i64 %33, 0
  br i1 %37, label %none, label %prologue
prologue:
  ret i64 %33
none:
  ret i64 0
zero:
  ret i64 -1
refused:
  ret i64 -2
}

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_u, ptr noalias captures(none) %v_out, float noundef %v_k) noinline nounwind {
entry:
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  %1 = udiv i64 %lo, 3
  %2 = urem i64 %lo, 3
  %3 = add nsw i64 %hi, -1
  %4 = udiv i64 %3, 3
  %5 = urem i64 %3, 3
  %6 = add nuw nsw i64 %5, 1
  br label %row
row:
  %r = phi i64 [ %1, %first ], [ %r.next, %row.end ]
  %column = phi i64 [ %2, %first ], [ 0, %row.end ]
  %7 = icmp eq i64 %r, %4
  %8 = select i1 %7, i64 %6, i64 3
  br label %iteration
iteration:
  %n = phi i64 [ %column, %row ], [ %n.next, %next ]
  %9 = add nsw i64 1, %r
  %10 = add nsw i64 1, %n
  %11 = mul i64 %r, 5
  %12 = add i64 %11, %n
  %13 = getelementptr float, ptr %v_u, i64 %12
  %14 = getelementptr float, ptr %13, i64 6
  %15 = load float, ptr %14, align 1
  %16 = mul i64 %r, 5
  %17 = add i64 %16, %n
  %18 = getelementptr float, ptr %v_u, i64 %17
  %19 = getelementptr float, ptr %18, i64 1
  %20 = load float, ptr %19, align 1
  %21 = mul i64 %r, 5
  %22 = add i64 %21, %n
  %23 = getelementptr float, ptr %v_u, i64 %22
  %24 = getelementptr float, ptr %23, i64 11
  %25 = load float, ptr %24, align 1
  %26 = fadd float %20, %25
  %27 = call float @llvm.fma.f32(float 0xC000000000000000, float %15, float %26)
  %28 = mul i64 %r, 5
  %29 = add i64 %28, %n
  %30 = getelementptr float, ptr %v_u, i64 %29
  %31 = getelementptr float, ptr %30, i64 6
  %32 = load float, ptr %31, align 1
  %33 = call float @llvm.fma.f32(float %v_k, float %27, float %32)
  %34 = mul i64 %r, 5
  %35 = add i64 %34, %n
  %36 = getelementptr float, ptr %v_out, i64 %35
  %37 = getelementptr float, ptr %36, i64 6
  store float %33, ptr %37, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %38 = icmp eq i64 %n.next, %8
  br i1 %38, label %row.end, label %iteration, !llvm.loop !1
row.end:
  %r.next = add nuw nsw i64 %r, 1
  br i1 %7, label %done, label %row
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
