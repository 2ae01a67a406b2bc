//! A report as text for people; colours are taken out where nobody sees them.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use doctor::{Finding, Report, Severity};

/// How far what a cause leads to stands in.
const INDENT: &str = "  ";

/// Draws a report: causes with what they lead to, and a line that sums up.
pub(crate) fn draw(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        draw_finding(&mut text, finding, "");
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(report));
    text
}

fn draw_finding(text: &mut String, finding: &Finding, indent: &str) {
    let style = style(finding.severity);
    let at = match finding.field.as_str() {
        "" => String::new(),
        field => format!(" ({field})"),
    };
    // Writing to a text can't fail.
    let _ = writeln!(
        text,
        "{indent}{style}{}{style:#} {}{at}",
        finding.severity.as_str(),
        finding.object
    );
    let _ = writeln!(text, "{indent}{INDENT}{}", finding.cause);
    let _ = writeln!(text, "{indent}{INDENT}next: {}", finding.next);
    if !finding.leads_to.is_empty() {
        let _ = writeln!(text, "{indent}{INDENT}leads to:");
    }
    let deeper = format!("{indent}{INDENT}{INDENT}");
    for consequence in &finding.leads_to {
        draw_finding(text, consequence, &deeper);
    }
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Broken => AnsiColor::Red.on_default().bold(),
        Severity::Risky => AnsiColor::Yellow.on_default().bold(),
        Severity::Note => AnsiColor::Cyan.on_default(),
    }
}

/// What there is, in one line.
pub(crate) fn summary(report: &Report) -> String {
    let counted = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    let objects = counted(report.looked_at, "object", "objects");
    let found: Vec<String> = [
        (report.broken, "broken", "broken"),
        (report.risky, "risky", "risky"),
        (report.notes, "note", "notes"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, one, many)| counted(count, one, many))
    .collect();
    if found.is_empty() {
        format!("nothing is wrong; looked at {objects}")
    } else {
        format!("{}; looked at {objects}", found.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use doctor::Subject;

    use super::*;

    fn finding(severity: Severity, name: &str) -> Finding {
        let object = Subject {
            kind: "Pod".to_owned(),
            group: String::new(),
            namespace: "a".to_owned(),
            name: name.to_owned(),
        };
        Finding::about(severity, "rule", object)
            .at("status.phase")
            .because("it doesn't run")
            .next(format!("kubectl describe pod {name} -n a"))
    }

    #[test]
    fn a_cause_is_drawn_with_what_it_leads_to() {
        let mut cause = finding(Severity::Broken, "one");
        cause.leads_to.push(finding(Severity::Risky, "two"));
        let report = Report {
            findings: vec![cause],
            broken: 1,
            risky: 1,
            notes: 0,
            looked_at: 7,
        };
        insta::assert_snapshot!(anstream::adapter::strip_str(&draw(&report)), @r"
        broken Pod a/one (status.phase)
          it doesn't run
          next: kubectl describe pod one -n a
          leads to:
            risky Pod a/two (status.phase)
              it doesn't run
              next: kubectl describe pod two -n a

        1 broken, 1 risky; looked at 7 objects
        ");
        let nothing = Report {
            findings: Vec::new(),
            broken: 0,
            risky: 0,
            notes: 0,
            looked_at: 1,
        };
        assert_eq!(draw(&nothing), "nothing is wrong; looked at 1 object\n");
    }
}
