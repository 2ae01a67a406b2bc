//! The place: the part of the address below which the pages are, which only those know who were let in.
//!
//! Browsers give the cookie of a host to every port of it, so that a server of anybody on this machine would be shown the
//! console's. They do keep it from every path but its own. So the pages are below a path that nobody else can name, and the
//! cookie is for that path alone. Pages are drawn as if they were at the root; [`Place::led`] leads their links to where
//! they are, and [`Place::behind`] is the way back.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::token::Token;

/// What every place begins with: no page does.
const MARK: &str = "/~";

/// What a place is made of, beside the token.
const PURPOSE: &[u8] = b"the place of the baton console";

/// How much of the derived bytes stands in the address: nobody guesses 128 bits.
const BYTES: usize = 16;

/// The attributes that lead somewhere.
const LEADING: [&str; 4] = [" href", " action", " hx-get", " data-changes"];

/// What is the same for everybody, and not below the place.
const FOR_EVERYBODY: &str = "assets/";

/// The path below which the pages are, such as `/~Zk3…`. It stays the same as long as the token does, so that bookmarks do.
pub(crate) struct Place(String);

impl Place {
    pub(crate) fn of(token: &Token) -> Self {
        let tag = token.derived(PURPOSE);
        let bytes = tag.as_ref();
        let kept = bytes.get(..BYTES).unwrap_or(bytes);
        Self(format!("{MARK}{}", URL_SAFE_NO_PAD.encode(kept)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The page that a path means; none if the path isn't below this place.
    pub(crate) fn behind<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (place, page) = path.split_at_checked(self.0.len())?;
        verify_slices_are_equal(place.as_bytes(), self.0.as_bytes()).ok()?;
        match page {
            "" => Some("/"),
            page => page.starts_with('/').then_some(page),
        }
    }

    /// A page with its links led to this place.
    ///
    /// Text in a page has no quotation marks of its own, since they are escaped; so what looks like an attribute is one.
    pub(crate) fn led(&self, page: &str) -> String {
        const VALUE: &str = "=\"/";
        let mut led = String::with_capacity(page.len() + page.len() / 8);
        let mut parts = page.split(VALUE);
        let mut before = parts.next().unwrap_or_default();
        led.push_str(before);
        for part in parts {
            let leads = LEADING.iter().any(|attribute| before.ends_with(attribute));
            led.push_str("=\"");
            if leads && !part.starts_with(FOR_EVERYBODY) {
                led.push_str(&self.0);
            }
            led.push('/');
            led.push_str(part);
            before = part;
        }
        led
    }
}

/// The page that an address means, whatever place it is below: that of an earlier token, too.
pub(crate) fn without_place(address: &str) -> &str {
    let Some(rest) = address.strip_prefix(MARK) else {
        return address;
    };
    rest.find('/').and_then(|end| rest.get(end..)).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(token: &str) -> Place {
        Place::of(&Token::from_text(token).expect("a token"))
    }

    const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz-0123456";

    #[test]
    fn a_place_is_that_of_its_token_and_does_not_tell_it() {
        let one = place(TOKEN);
        assert_eq!(one.as_str(), place(TOKEN).as_str());
        assert_ne!(one.as_str(), place("abcdefghijklmnopqrstuvwxyz-0123457").as_str());
        assert_eq!(one.as_str().len(), MARK.len() + 22);
        assert!(!one.as_str().contains(&TOKEN[..8]));
    }

    #[test]
    fn only_paths_below_the_place_mean_a_page() {
        let place = place(TOKEN);
        let here = place.as_str();
        for (path, page) in [
            (here.to_owned(), Some("/")),
            (format!("{here}/"), Some("/")),
            (format!("{here}/extensions/web"), Some("/extensions/web")),
            (format!("{here}x/extensions"), None),
            (here[..here.len() - 1].to_owned(), None),
            (format!("{}é", &here[..here.len() - 1]), None),
            ("/~".to_owned(), None),
            ("/extensions".to_owned(), None),
            ("/".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(place.behind(&path), page, "{path}");
        }
    }

    #[test]
    fn links_are_led_to_the_place_and_nothing_else_is_changed() {
        let place = place(TOKEN);
        let here = place.as_str();
        for (page, expected) in [
            ("<a href=\"/\">x</a>", format!("<a href=\"{here}/\">x</a>")),
            (
                "<form method=\"post\" action=\"/theme\"><input value=\"/events\">",
                format!("<form method=\"post\" action=\"{here}/theme\"><input value=\"/events\">"),
            ),
            (
                "<body data-changes=\"/changes?about=a\"><div hx-get=\"/a\"><a href=\"?page=2\"><a href=\"#main\">",
                format!(
                    "<body data-changes=\"{here}/changes?about=a\"><div hx-get=\"{here}/a\"><a href=\"?page=2\"><a href=\"#main\">"
                ),
            ),
            (
                "<link href=\"/assets/a.css\"><script src=\"/assets/a.js\">",
                "<link href=\"/assets/a.css\"><script src=\"/assets/a.js\">".to_owned(),
            ),
            ("a href=&#34;/b&#34;", "a href=&#34;/b&#34;".to_owned()),
            ("", String::new()),
        ] {
            assert_eq!(place.led(page), expected);
        }
    }

    #[test]
    fn a_page_is_found_behind_any_place() {
        for (address, page) in [
            ("/extensions?a=/~b", "/extensions?a=/~b"),
            ("/~old/extensions?a=1", "/extensions?a=1"),
            ("/~old", "/"),
            ("/~", "/"),
            ("/", "/"),
        ] {
            assert_eq!(without_place(address), page, "{address}");
        }
    }
}
