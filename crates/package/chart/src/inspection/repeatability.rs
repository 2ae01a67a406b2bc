//! Functions whose result is another one each time, so that every upgrade changes what they were used for.

use std::collections::BTreeSet;

use gotemplate::Mentioned;

use super::{Finding, Severity, TemplateFile};

/// Functions that depend on chance or time.
const CHANGING: &[&str] = &[
    "randAlpha",
    "randAlphaNum",
    "randAscii",
    "randBytes",
    "randInt",
    "randNumeric",
    "shuffle",
    "uuidv4",
    "now",
    "htpasswd",
    "bcrypt",
    "encryptAES",
    "genPrivateKey",
    "genCA",
    "genCAWithKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
];

/// Tells where templates use them without looking for an earlier result.
pub(super) fn changing(templates: &[TemplateFile<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in templates.iter().filter(|file| file.is_own) {
        let mut seen = BTreeSet::new();
        for template in file.parsed.templates() {
            let mentions = template.mentions();
            if mentions
                .iter()
                .any(|mention| mention.what == Mentioned::Function("lookup"))
            {
                continue;
            }
            for mention in &mentions {
                let Mentioned::Function(name) = mention.what else {
                    continue;
                };
                if CHANGING.contains(&name) && seen.insert(name) {
                    findings.push(Finding {
                        severity: Severity::Warning,
                        message: format!(
                            "{}:{}: {name} gives another result at every upgrade; look up the earlier one with lookup, or \
                             take it from a value",
                            file.name, mention.line
                        ),
                    });
                }
            }
        }
    }
    findings
}
