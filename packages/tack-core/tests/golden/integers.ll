define internal i32 @tack.floordiv.i32(i32 %a, i32 %b) alwaysinline nounwind {
  %zero = icmp eq i32 %b, 0
  %minus = icmp eq i32 %b, -1
  %unsafe = or i1 %zero, %minus
  %safe = select i1 %unsafe, i32 1, i32 %b
  %q = sdiv i32 %a, %safe
  %r = srem i32 %a, %safe
  %mixed = xor i32 %r, %safe
  %opposite = icmp slt i32 %mixed, 0
  %rest = icmp ne i32 %r, 0
  %down = and i1 %opposite, %rest
  %step = sext i1 %down to i32
  %floored = add i32 %q, %step
  %negated = sub i32 0, %a
  %nonzero = select i1 %minus, i32 %negated, i32 %floored
  %value = select i1 %zero, i32 0, i32 %nonzero
  ret i32 %value
}

define internal i32 @tack.mod.i32(i32 %a, i32 %b) alwaysinline nounwind {
  %zero = icmp eq i32 %b, 0
  %minus = icmp eq i32 %b, -1
  %unsafe = or i1 %zero, %minus
  %safe = select i1 %unsafe, i32 1, i32 %b
  %r = srem i32 %a, %safe
  %mixed = xor i32 %r, %safe
  %opposite = icmp slt i32 %mixed, 0
  %rest = icmp ne i32 %r, 0
  %up = and i1 %opposite, %rest
  %step = select i1 %up, i32 %safe, i32 0
  %value = add i32 %r, %step
  ret i32 %value
}

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

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_a, ptr noalias readonly captures(none) %v_b, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = getelementptr inbounds i16, ptr %v_a, i64 %n
  %2 = load i16, ptr %1, align 1
  %3 = sext i16 %2 to i32
  %4 = getelementptr inbounds i32, ptr %v_b, i64 %n
  %5 = load i32, ptr %4, align 1
  %6 = call i32 @tack.floordiv.i32(i32 %3, i32 %5)
  %7 = getelementptr inbounds i16, ptr %v_a, i64 %n
  %8 = load i16, ptr %7, align 1
  %9 = sext i16 %8 to i32
  %10 = getelementptr inbounds i32, ptr %v_b, i64 %n
  %11 = load i32, ptr %10, align 1
  %12 = call i32 @tack.mod.i32(i32 %9, i32 %11)
  %13 = shl i32 %6, 3
  %14 = getelementptr inbounds i32, ptr %v_b, i64 %n
  %15 = load i32, ptr %14, align 1
  %16 = and i32 %15, 31
  %17 = ashr i32 %12, %16
  %18 = xor i32 %13, %17
  %19 = getelementptr inbounds i16, ptr %v_a, i64 %n
  %20 = load i16, ptr %19, align 1
  %21 = xor i16 %20, -1
  %22 = sext i16 %21 to i32
  %23 = mul i32 %12, %12
  %24 = add i32 %22, %23
  %25 = or i32 %18, %24
  %26 = sext i32 %25 to i64
  %27 = getelementptr inbounds i64, ptr %v_out, i64 %n
  store i64 %26, ptr %27, align 1
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
