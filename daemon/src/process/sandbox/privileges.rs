//! What a privileged user's commands may still do: what concerns files, processes and user ids. An unprivileged user has
//! nothing to lose here.

use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, remove_capability_from_bounding_set, set_no_new_privs,
};

/// The privileges that stay, about those that containers have by default. None of them reaches other namespaces, disks,
/// the kernel or the network's configuration.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::SYS_CHROOT);

/// Takes the others from what the calling thread starts, for ever.
pub fn reduce() -> rustix::io::Result<()> {
    set_no_new_privs(true)?;
    if capabilities(None)?.permitted.is_empty() {
        return Ok(());
    }
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        // The kernel refuses to tell about those that it does not have.
        if !KEPT.contains(one) && capability_is_in_bounding_set(one) == Ok(true) {
            remove_capability_from_bounding_set(one)?;
        }
    }
    Ok(())
}
