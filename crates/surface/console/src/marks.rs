//! Small pieces of many pages: a state in a pill, a moment, what to do where there is nothing.

use askama::Template;
use jiff::Timestamp;

/// How a state feels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Busy,
    Warning,
    Bad,
    Idle,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Busy => "busy",
            Self::Warning => "warning",
            Self::Bad => "bad",
            Self::Idle => "idle",
        }
    }
}

/// A state in a word or two, with a colour that says the same.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(
    ext = "html",
    source = r#"<span class="pill {{ tone.class() }}">{{ text }}</span>"#
)]
pub(crate) struct Pill {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

impl Pill {
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            tone,
            text: text.into(),
        }
    }
}

/// A moment, as people say it, with the exact time behind it.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(
    ext = "html",
    source = r#"<time datetime="{{ time }}" title="{{ time }}">{{ self.words() }}</time>"#
)]
pub(crate) struct Moment {
    time: Timestamp,
    now: Timestamp,
}

impl Moment {
    pub(crate) fn new(time: Timestamp, now: Timestamp) -> Self {
        Self { time, now }
    }

    fn words(&self) -> String {
        let seconds = self.now.as_second().saturating_sub(self.time.as_second());
        match seconds {
            ..10 => "just now".to_owned(),
            10..60 => format!("{seconds} s ago"),
            60..3_600 => format!("{} min ago", seconds / 60),
            3_600..86_400 => format!("{} h ago", seconds / 3_600),
            _ => format!("{} d ago", seconds / 86_400),
        }
    }
}

/// A name that leads to the page of what it names, if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(
    ext = "html",
    source = r#"{% if let Some(href) = href %}<a href="{{ href }}">{{ text }}</a>{% else %}{{ text }}{% endif %}"#
)]
pub(crate) struct Link {
    href: Option<String>,
    text: String,
}

impl Link {
    pub(crate) fn to(href: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            href: Some(href.into()),
            text: text.into(),
        }
    }

    pub(crate) fn nowhere(text: impl Into<String>) -> Self {
        Self {
            href: None,
            text: text.into(),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn href(&self) -> &str {
        self.href.as_deref().unwrap_or_default()
    }
}

/// What stands where there is nothing yet, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(path = "empty.html")]
pub(crate) struct Empty {
    title: &'static str,
    text: &'static str,
    command: Option<String>,
}

impl Empty {
    pub(crate) fn new(title: &'static str, text: &'static str) -> Self {
        Self {
            title,
            text,
            command: None,
        }
    }

    pub(crate) fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_in_the_unit_that_people_would_use() {
        let now = Timestamp::from_second(1_000_000).expect("a time");
        let told = |ago: i64| {
            let time = Timestamp::from_second(1_000_000 - ago).expect("a time");
            Moment::new(time, now).words()
        };
        for (ago, words) in [
            (-5, "just now"),
            (0, "just now"),
            (59, "59 s ago"),
            (60, "1 min ago"),
            (7_300, "2 h ago"),
            (200_000, "2 d ago"),
        ] {
            assert_eq!(told(ago), words);
        }
    }

    #[test]
    fn a_link_leads_somewhere_or_is_a_name() {
        assert_eq!(
            Link::to("/a?b&c", "<a>").to_string(),
            "<a href=\"/a?b&#38;c\">&#60;a&#62;</a>"
        );
        assert_eq!(Link::nowhere("a&b").to_string(), "a&#38;b");
    }

    #[test]
    fn a_pill_can_not_be_broken_out_of() {
        let pill = Pill::new(Tone::Bad, "<b>\"");
        assert_eq!(
            pill.to_string(),
            "<span class=\"pill bad\">&#60;b&#62;&#34;</span>"
        );
    }
}
