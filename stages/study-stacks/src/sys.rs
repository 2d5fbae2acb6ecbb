//! The few kernel requests that no safe wrapper offers. All `unsafe` of this crate is here.
#![expect(unsafe_code, reason = "socket options without a safe wrapper: TCP_INFO in full length, UDP_GRO")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Longest `tcp_info` that is read; Linux 6.18 gives 280 bytes.
const TCP_INFO_MAX: usize = 512;

fn get(fd: BorrowedFd<'_>, level: i32, option: i32, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(buffer.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: the buffer is writable for `length` bytes and the descriptor is borrowed for the call.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, buffer.as_mut_ptr().cast(), &raw mut length) };
    if result == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's `struct tcp_info`, as long as this kernel has it.
pub(crate) fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; TCP_INFO_MAX];
    let length = get(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

/// Whether the socket receives joined datagrams (`UDP_GRO`).
pub(crate) fn udp_gro(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut value = [0; 4];
    get(fd, libc::SOL_UDP, libc::UDP_GRO, &mut value)?;
    Ok(i32::from_ne_bytes(value) != 0)
}

/// Lets the socket receive joined datagrams, or not.
pub(crate) fn set_udp_gro(fd: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    let value = i32::from(on).to_ne_bytes();
    // SAFETY: the option's value is four readable bytes and the descriptor is borrowed for the call.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, value.as_ptr().cast(), 4) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
