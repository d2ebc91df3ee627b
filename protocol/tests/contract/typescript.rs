//! The committed TypeScript types were made from the committed schema. No Node is needed to see that.

use std::path::Path;

/// FNV-1a of 64 bits, as `generate.mjs` writes it.
fn fingerprint(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

#[test]
fn the_types_were_made_from_the_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = std::fs::read(folder.join("schema/plimsoll.schema.json")).unwrap();
    let types = std::fs::read_to_string(folder.join("typescript/plimsoll.ts")).unwrap();
    let line = types.lines().find(|line| line.starts_with("// schema: "));
    assert_eq!(
        line,
        Some(format!("// schema: {}", fingerprint(&schema)).as_str()),
        "protocol/typescript/plimsoll.ts was made from another schema; run `bash protocol/typescript/run`"
    );
}
