//! How custom resources of one version become those of another.

use goyaml::go_struct;

use super::super::field_error::FieldError;
use super::super::names;
use chart::go_url::Url;

/// The versions of a conversion's question that API servers understand.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// The strategy that changes nothing but the version.
pub(super) const NONE: &str = "None";
/// The strategy that asks a webhook.
const WEBHOOK: &str = "Webhook";
/// The port of a webhook that names none.
const DEFAULT_PORT: i32 = 443;

/// How custom resources are converted, as the API server works with it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Conversion {
    pub(super) strategy: String,
    client: Option<Client>,
    review_versions: Vec<String>,
}

/// How a webhook is reached.
#[derive(Debug, Clone, Default, PartialEq)]
struct Client {
    url: Option<String>,
    service: Option<Service>,
}
go_struct!(Client, "v1.WebhookClientConfig", { "url" => url, "service" => service });

/// A service in the cluster.
#[derive(Debug, Clone, Default, PartialEq)]
struct Service {
    namespace: String,
    name: String,
    path: Option<String>,
    port: Option<i32>,
}
go_struct!(Service, "v1.ServiceReference", {
    "namespace" => namespace, "name" => name, "path" => path, "port" => port,
});

/// What `v1` says about conversion.
#[derive(Debug, Clone, Default)]
pub(super) struct ConversionV1 {
    strategy: String,
    webhook: Option<WebhookV1>,
}
go_struct!(ConversionV1, "v1.CustomResourceConversion", {
    "strategy" => strategy as "v1.ConversionStrategyType", "webhook" => webhook,
});

#[derive(Debug, Clone, Default)]
struct WebhookV1 {
    client: Option<Client>,
    review_versions: Vec<String>,
}
go_struct!(WebhookV1, "v1.WebhookConversion", {
    "clientConfig" => client, "conversionReviewVersions" => review_versions,
});

/// What `v1beta1` says about conversion.
#[derive(Debug, Clone, Default)]
pub(super) struct ConversionV1beta1 {
    strategy: String,
    client: Option<Client>,
    review_versions: Vec<String>,
}
go_struct!(ConversionV1beta1, "v1beta1.CustomResourceConversion", {
    "strategy" => strategy as "v1beta1.ConversionStrategyType", "webhookClientConfig" => client,
    "conversionReviewVersions" => review_versions,
});

impl Conversion {
    /// No conversion.
    pub(super) fn none() -> Self {
        Self {
            strategy: NONE.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn from_v1(written: ConversionV1) -> Self {
        let webhook = written.webhook.unwrap_or_default();
        Self {
            strategy: written.strategy,
            client: webhook.client,
            review_versions: webhook.review_versions,
        }
    }

    pub(super) fn from_v1beta1(written: ConversionV1beta1) -> Self {
        let mut review_versions = written.review_versions;
        if written.strategy == WEBHOOK && review_versions.is_empty() {
            review_versions.push("v1beta1".to_owned());
        }
        Self {
            strategy: written.strategy,
            client: written.client,
            review_versions,
        }
    }

    /// What is wrong with it.
    pub(super) fn faults(&self) -> Vec<FieldError> {
        const CLIENT: &str = "spec.conversion.webhookClientConfig";
        const REVIEWS: &str = "spec.conversion.conversionReviewVersions";
        const MISPLACED: &str = "should not be set when strategy is not set to Webhook";
        let mut faults = super::rules::one_of("spec.conversion.strategy", &self.strategy, &[NONE, WEBHOOK]);
        if self.strategy != WEBHOOK {
            if self.client.is_some() {
                faults.push(FieldError::forbidden(CLIENT, MISPLACED));
            }
            if !self.review_versions.is_empty() {
                faults.push(FieldError::forbidden(REVIEWS, MISPLACED));
            }
            return faults;
        }
        match &self.client {
            None => faults.push(FieldError::required(
                CLIENT,
                "required when strategy is set to Webhook",
            )),
            Some(client) => match (&client.url, &client.service) {
                (Some(_), Some(_)) | (None, None) => {
                    faults.push(FieldError::required(
                        CLIENT,
                        "exactly one of url or service is required",
                    ));
                }
                (Some(url), None) => faults.extend(url_faults(&format!("{CLIENT}.url"), url)),
                (None, Some(service)) => faults.extend(service.faults(&format!("{CLIENT}.service"))),
            },
        }
        faults.extend(self.review_faults(REVIEWS));
        faults
    }

    fn review_faults(&self, field: &str) -> Vec<FieldError> {
        if self.review_versions.is_empty() {
            return vec![FieldError::required(field, "")];
        }
        let mut faults = Vec::new();
        for (index, version) in self.review_versions.iter().enumerate() {
            let place = format!("{field}[{index}]");
            if self
                .review_versions
                .iter()
                .take(index)
                .any(|earlier| earlier == version)
            {
                faults.push(FieldError::invalid(place, version, "duplicate version"));
                continue;
            }
            faults.extend(
                names::dns_1035_label(version)
                    .into_iter()
                    .map(|fault| FieldError::invalid(place.clone(), version, fault)),
            );
        }
        if !self
            .review_versions
            .iter()
            .any(|version| REVIEW_VERSIONS.contains(&version.as_str()))
        {
            faults.push(FieldError::invalid_value(
                field,
                &self.review_versions,
                format!("must include at least one of {}", REVIEW_VERSIONS.join(", ")),
            ));
        }
        faults
    }
}

fn url_faults(field: &str, address: &str) -> Vec<FieldError> {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match Url::parse(address) {
        Ok(url) => url,
        Err(error) => {
            return vec![FieldError::required(
                field,
                format!("url must be a valid URL: {error}{FORM}"),
            )];
        }
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut faults = Vec::new();
    if url.scheme != b"https" {
        faults.push(FieldError::invalid(
            field,
            &text(&url.scheme),
            format!("'https' is the only allowed URL scheme{FORM}"),
        ));
    }
    if url.host.is_empty() {
        faults.push(FieldError::invalid(
            field,
            "",
            format!("host must be specified{FORM}"),
        ));
    }
    if let Some(user) = &url.user {
        faults.push(FieldError::invalid(
            field,
            &text(&user.to_text()),
            "user information is not permitted in the URL",
        ));
    }
    for (part, detail) in [
        (&url.fragment, "fragments are not permitted in the URL"),
        (&url.query, "query parameters are not permitted in the URL"),
    ] {
        if !part.is_empty() {
            faults.push(FieldError::invalid(field, &text(part), detail));
        }
    }
    faults
}

impl Service {
    fn faults(&self, field: &str) -> Vec<FieldError> {
        let mut faults = Vec::new();
        // Upstream calls its own check with name and namespace in the wrong order, and so names the other one.
        if self.namespace.is_empty() {
            faults.push(FieldError::required(format!("{field}.name"), ""));
        }
        if self.name.is_empty() {
            faults.push(FieldError::required(format!("{field}.namespace"), ""));
        }
        let port = self.port.unwrap_or(DEFAULT_PORT);
        if !(1..=65535).contains(&port) {
            faults.push(FieldError::invalid_value(
                format!("{field}.port"),
                &port,
                "port is not valid: must be between 1 and 65535, inclusive",
            ));
        }
        let path = self.path.as_deref().unwrap_or_default();
        if path.is_empty() || path == "/" {
            return faults;
        }
        let invalid = |detail: String| FieldError::invalid(format!("{field}.path"), path, detail);
        if path == "//" {
            faults.push(invalid("segment[0] may not be empty".to_owned()));
            return faults;
        }
        if !path.starts_with('/') {
            faults.push(invalid("must start with a '/'".to_owned()));
        }
        // Upstream leaves out the first byte, whatever it is.
        let rest = String::from_utf8_lossy(path.as_bytes().get(1..).unwrap_or_default()).into_owned();
        let rest = rest.strip_suffix('/').unwrap_or(&rest);
        for (index, step) in rest.split('/').enumerate() {
            if step.is_empty() {
                faults.push(invalid(format!("segment[{index}] may not be empty")));
                continue;
            }
            faults.extend(
                names::dns_subdomain(step)
                    .into_iter()
                    .map(|fault| invalid(format!("segment[{index}]: {fault}"))),
            );
        }
        faults
    }
}
