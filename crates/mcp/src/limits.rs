//! How much a server may send, keep waiting and be asked.

use std::time::Duration;

/// Largest message of a server, and largest answer over HTTP, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Most tools of one server.
pub const TOOLS_MAX: usize = 256;
/// Most pages of a list of tools.
pub const PAGES_MAX: usize = 64;
/// Largest tool in a list: name, description, schema and annotations, in bytes.
pub const TOOL_BYTES_MAX: usize = 64 * 1024;
/// Largest list of tools, in bytes.
pub const LIST_BYTES_MAX: usize = 2 * 1024 * 1024;
/// What is kept of a server's standard error, in bytes.
pub const COMPLAINT_BYTES_MAX: usize = 8 * 1024;
/// Lists and objects within each other in one message.
pub const NESTING_MAX: usize = 127;
/// Lines on a server's standard output that are no messages, before it is given up.
pub const NONSENSE_MAX: usize = 256;
/// Questions of a server that are answered at a time; others are dropped.
pub const QUESTIONS_MAX: usize = 32;
/// Largest file of pins, in bytes.
pub const PINS_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Largest file a secret may lie in, in bytes.
pub const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// For starting a server and settling on a version.
pub const OPEN_MAX: Duration = Duration::from_secs(60);
/// For reading the list of tools.
pub const LIST_MAX: Duration = Duration::from_secs(30);
/// For a sign of life from a server that let a call time out.
pub const ALIVE_MAX: Duration = Duration::from_secs(5);
/// For a server to end by itself when its pipes are closed.
pub const END_GRACE: Duration = Duration::from_secs(2);
/// For one stream on which a server tells of changes.
pub const STREAM_MAX: Duration = Duration::from_secs(3600);
/// Streams that are opened without a pause between them.
pub const STREAMS_AT_ONCE: u32 = 16;
/// The pause between the streams after those.
pub const STREAM_PAUSE: Duration = Duration::from_secs(1);
/// Tries to find a broken stream again.
pub const STREAM_TRIES: usize = 3;
