;; The guest of the tests: the field "do" of the message says what it does.
(module
  (import "ferry" "path" (func $path (param i32 i32 i32) (result i32)))
  (import "ferry" "lookup" (func $lookup (param i32 i32 i32 i32) (result i32)))
  (import "ferry" "read" (func $read (param i32 i32 i32) (result i32)))
  (import "ferry" "tag" (func $tag (param i32 i32) (result i32)))
  (import "ferry" "key" (func $key (param i32 i32) (result i32)))
  (import "ferry" "time" (func $time (result i64)))
  (import "ferry" "sequence" (func $sequence (result i64)))
  (import "ferry" "deliveries" (func $deliveries (result i32)))
  (import "ferry" "send" (func $send (param i32 i32 i32 i32 i32 i32 i32 i64) (result i32)))
  (import "ferry" "forward" (func $forward (param i32 i32) (result i32)))
  (import "ferry" "fail" (func $fail (param i32 i32)))
  (import "ferry" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 2)
  (data (i32.const 0) "dovalueout/textit is a failure")
  ;; 0 do, 2 value, 7 out/text, 15 it is a failure
  (global $do (mut i32) (i32.const 0))
  (global $value (mut i32) (i32.const 0))
  (start $begin)
  (func $begin
    (global.set $do (call $path (i32.const 0) (i32.const 2) (i32.const 0)))
    (global.set $value (call $path (i32.const 2) (i32.const 5) (i32.const 0))))
  ;; send publishes size bytes at 4096 on out/text, with the key and the time of the message.
  (func $publish (param $size i32) (result i32)
    (call $send (i32.const 7) (i32.const 8) (i32.const 4) (i32.const 4096) (local.get $size)
      (i32.const 2048) (call $key (i32.const 2048) (i32.const 255)) (call $time)))
  (func $fib (param i32) (result i32)
    (if (result i32) (i32.lt_s (local.get 0) (i32.const 2))
      (then (i32.const 1))
      (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
  (func $deep (param i32) (result i32) (i32.add (i32.const 1) (call $deep (local.get 0))))
  ;; short has a loop of a few iterations, and makes no call.
  (func $short (local $i i32)
    (loop $again
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_s (local.get $i) (i32.const 10)))))
  (func (export "ferry_handle") (param $size i32) (param $type i32) (result i32)
    (local $what i32) (local $i i32)
    (drop (call $lookup (global.get $do) (i32.const 1024) (i32.const 1040) (i32.const 16)))
    (local.set $what (i32.load8_u (i32.const 1040)))
    (i32.store8 (i32.const 1040) (i32.const 0))
    ;; c: copy the payload
    (if (i32.eq (local.get $what) (i32.const 99)) (then
      (return (call $publish (call $read (i32.const 4096) (i32.const 0) (local.get $size))))))
    ;; v: the value as lookup writes it, its kind, and its content
    (if (i32.eq (local.get $what) (i32.const 118)) (then
      (i32.store (i32.const 4112) (call $lookup (global.get $value) (i32.const 4096) (i32.const 4116) (i32.const 64)))
      (return (call $publish (i32.add (i32.const 20) (i32.load (i32.const 4104)))))))
    ;; t: the tag, the sequence number, the deliveries
    (if (i32.eq (local.get $what) (i32.const 116)) (then
      (i64.store (i32.const 4096) (call $sequence))
      (i32.store (i32.const 4104) (call $deliveries))
      (return (call $publish (i32.add (i32.const 12) (call $tag (i32.const 4108) (i32.const 255)))))))
    ;; w: forward
    (if (i32.eq (local.get $what) (i32.const 119)) (then
      (return (call $forward (i32.const 7) (i32.const 8)))))
    ;; f: fail with a text
    (if (i32.eq (local.get $what) (i32.const 102)) (then
      (call $fail (i32.const 15) (i32.const 15)) (return (i32.const 7))))
    ;; l: log without end
    (if (i32.eq (local.get $what) (i32.const 108)) (then
      (loop $again
        (call $log (i32.const 4) (i32.const 15) (i32.const 15))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $again (i32.lt_s (local.get $i) (i32.const 1000))))))
    ;; x: trap
    (if (i32.eq (local.get $what) (i32.const 120)) (then (unreachable)))
    ;; s: spin
    (if (i32.eq (local.get $what) (i32.const 115)) (then (loop $again (br $again))))
    ;; p: spin in calls of a function with a short loop
    (if (i32.eq (local.get $what) (i32.const 112)) (then (loop $again (call $short) (br $again))))
    ;; b: recursion that takes forever without a loop
    (if (i32.eq (local.get $what) (i32.const 98)) (then (return (call $fib (i32.const 90)))))
    ;; d: recursion without end
    (if (i32.eq (local.get $what) (i32.const 100)) (then (return (call $deep (i32.const 0)))))
    ;; m: take memory until there is none, and trap
    (if (i32.eq (local.get $what) (i32.const 109)) (then
      (loop $again (br_if $again (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0))))
      (unreachable)))
    ;; o: pass a buffer outside the memory
    (if (i32.eq (local.get $what) (i32.const 111)) (then
      (drop (call $read (i32.const 0x7fffff00) (i32.const 0) (local.get $size)))))
    ;; n: send without end
    (if (i32.eq (local.get $what) (i32.const 110)) (then
      (loop $again (drop (call $publish (i32.const 1))) (br $again))))
    (i32.const 0)))
