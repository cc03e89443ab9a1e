//! From bytes to frames: events of a `text/event-stream`, or lines of JSON.
//!
//! A frame is given out as soon as its last byte is here. A line has a length; what is
//! longer ends the stream, so that nobody has to hold it.

/// Longest line, and longest data of one event, in bytes.
pub(crate) const LINE_MAX: usize = 4 << 20;

/// How an answer is cut into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value a line.
    Lines,
}

/// Bytes that are no frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misframed {
    /// A line without end.
    TooLong,
    /// Not UTF-8.
    NotText,
}

/// One piece of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// What the server calls it, if it does.
    pub(crate) event: String,
    /// What it says.
    pub(crate) data: String,
}

/// Cuts bytes into frames.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    line: Vec<u8>,
    /// The line before ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    is_first: bool,
    begun: Option<Frame>,
}

impl Frames {
    pub(crate) fn new(framing: Framing) -> Self {
        Self { framing, line: Vec::new(), after_cr: false, is_first: true, begun: None }
    }

    /// Takes in bytes and gives out what is whole.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, Misframed> {
        let mut frames = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, after) = rest.split_at(at);
            let is_rest_of_crlf = at == 0 && self.after_cr && rest.first() == Some(&b'\n');
            self.after_cr = after.first() == Some(&b'\r');
            rest = after.get(1..).unwrap_or_default();
            if !is_rest_of_crlf {
                self.push(line)?;
                frames.extend(self.end_of_line()?);
            }
        }
        if !rest.is_empty() {
            self.after_cr = false;
        }
        self.push(rest)?;
        Ok(frames)
    }

    /// There is no more; gives out what was not ended.
    pub(crate) fn finish(&mut self) -> Result<Option<Frame>, Misframed> {
        let last = if self.line.is_empty() { None } else { self.end_of_line()? };
        Ok(last.or_else(|| self.begun.take()).filter(|frame| !frame.data.is_empty()))
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Misframed> {
        if self.line.len().saturating_add(bytes.len()) > LINE_MAX {
            return Err(Misframed::TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_of_line(&mut self) -> Result<Option<Frame>, Misframed> {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8(bytes).map_err(|_| Misframed::NotText)?;
        let line = match line.strip_prefix('\u{feff}') {
            Some(plain) if std::mem::take(&mut self.is_first) => plain,
            Some(_) | None => line.as_str(),
        };
        self.is_first = false;
        match self.framing {
            Framing::Lines if line.trim().is_empty() => Ok(None),
            Framing::Lines => Ok(Some(Frame { event: String::new(), data: line.to_owned() })),
            Framing::Events => self.field(line),
        }
    }

    fn field(&mut self, line: &str) -> Result<Option<Frame>, Misframed> {
        if line.is_empty() {
            // An event without data is none.
            return Ok(self.begun.take().filter(|frame| !frame.data.is_empty()));
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        let frame = self.begun.get_or_insert_default();
        match name {
            "data" => {
                if frame.data.len().saturating_add(value.len()) > LINE_MAX {
                    return Err(Misframed::TooLong);
                }
                if !frame.data.is_empty() {
                    frame.data.push('\n');
                }
                frame.data.push_str(value);
            }
            "event" => value.clone_into(&mut frame.event),
            // Comments, ids and times to reconnect say nothing here.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(framing: Framing, bytes: &[u8], size: usize) -> Vec<String> {
        let mut frames = Frames::new(framing);
        let mut all = Vec::new();
        for chunk in bytes.chunks(size) {
            all.extend(frames.feed(chunk).unwrap());
        }
        all.extend(frames.finish().unwrap());
        all.into_iter().map(|frame| format!("{}|{}", frame.event, frame.data)).collect()
    }

    #[test]
    fn every_kind_of_line_end_is_one_however_the_bytes_are_cut() {
        let stream =
            "\u{feff}event: a\r\ndata: 1\r\n\r\n: ping\r\rdata:2\rdata: 3\r\rid: 7\n\ndata: ä\n\ndata: end";
        for size in 1..=stream.len() {
            let got = data(Framing::Events, stream.as_bytes(), size);
            assert_eq!(got, ["a|1", "|2\n3", "|ä", "|end"], "in pieces of {size}");
        }
    }

    #[test]
    fn lines_are_frames_and_blank_ones_are_none() {
        assert_eq!(data(Framing::Lines, b"{\"a\":1}\n\r\n{\"b\":2}", 3), ["|{\"a\":1}", "|{\"b\":2}"]);
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_is_held() {
        let mut frames = Frames::new(Framing::Events);
        let chunk = vec![b'x'; 1 << 20];
        let fed: Vec<bool> = (0..5).map(|_| frames.feed(&chunk).is_ok()).collect();
        assert_eq!(fed, [true, true, true, true, false]);
        let mut events = Frames::new(Framing::Events);
        let line = format!("data: {}\n", "y".repeat(1 << 20));
        let fed: Vec<bool> = (0..5).map(|_| events.feed(line.as_bytes()).is_ok()).collect();
        assert_eq!(fed.last(), Some(&false), "nor is an event of many lines");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert_eq!(Frames::new(Framing::Lines).feed(b"\xff\n"), Err(Misframed::NotText));
    }
}
