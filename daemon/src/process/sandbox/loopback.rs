//! Brings the loopback device of a new network up, so that programs can talk to themselves.

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// `RTM_NEWLINK` of rtnetlink(7).
const NEW_LINK: u16 = 16;

/// `NLM_F_REQUEST` and `NLM_F_ACK` of netlink(7).
const REQUEST_ACK: u16 = 1 | 4;

/// `NLMSG_ERROR` of netlink(7), which also says that all went well.
const ERROR: u16 = 2;

/// `IFF_UP` of netdevice(7).
const UP: u32 = 1;

/// The loopback device is the first of every network.
const LOOPBACK: u32 = 1;

/// Header of a message (16 bytes) and description of a device (16 bytes).
const LENGTH: u32 = 32;

/// Asks the kernel for it; in the calling thread's network.
pub fn up() -> rustix::io::Result<()> {
    // No protocol stands for the routing one.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = Vec::with_capacity(LENGTH as usize);
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_ACK.to_ne_bytes());
    // Sequence and sender.
    message.extend([0; 8]);
    // Family, padding, type of the device: any.
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    // The flags, and which of them are meant.
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (_, length) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let answer = answer.get(..length).unwrap_or_default();
    let kind = answer.get(4..6).and_then(|bytes| Some(u16::from_ne_bytes(bytes.try_into().ok()?)));
    let code = answer.get(16..20).and_then(|bytes| Some(i32::from_ne_bytes(bytes.try_into().ok()?)));
    match (kind, code) {
        (Some(ERROR), Some(0)) => Ok(()),
        (Some(ERROR), Some(code)) => Err(Errno::from_raw_os_error(code.saturating_neg())),
        _ => Err(Errno::BADMSG),
    }
}
