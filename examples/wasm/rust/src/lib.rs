//! A guest in Rust: it publishes messages whose field "value" is above 30 on high/TAG.
#![no_std]

use core::ptr::{addr_of, addr_of_mut, null_mut};

#[link(wasm_import_module = "ferry")]
extern "C" {
    fn path(text: *const u8, size: u32, kind: u32) -> i32;
    fn lookup(path: i32, value: *mut Value, to: *mut u8, size: u32) -> i32;
    fn tag(to: *mut u8, size: u32) -> u32;
    fn forward(tag: *const u8, size: u32) -> i32;
}

/// A field as the host writes it.
#[repr(C)]
struct Value {
    bits: u64,
    length: u32,
    flags: u32,
}

const PREFIX: &[u8; 5] = b"high/";
static mut TO: [u8; 5 + 1024] = [0; 5 + 1024]; // 1024: the longest tag
static mut VALUE_PATH: i32 = 0;

#[no_mangle]
pub extern "C" fn _initialize() {
    unsafe {
        VALUE_PATH = path(b"value".as_ptr(), 5, 0);
        core::ptr::copy_nonoverlapping(PREFIX.as_ptr(), addr_of_mut!(TO) as *mut u8, PREFIX.len());
    }
}

#[no_mangle]
pub extern "C" fn ferry_handle(_size: u32, _kind: u32) -> i32 {
    let mut value = Value { bits: 0, length: 0, flags: 0 };
    let number = match unsafe { lookup(VALUE_PATH, &mut value, null_mut(), 0) } {
        4 => value.bits as i64 as f64,
        5 => f64::from_bits(value.bits),
        _ => return 0,
    };
    if number <= 30.0 {
        return 0;
    }
    unsafe {
        let to = addr_of_mut!(TO) as *mut u8;
        let n = tag(to.add(PREFIX.len()), 1024);
        forward(addr_of!(TO) as *const u8, PREFIX.len() as u32 + n)
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
