//! The variables by which containers find Services, as upstream's kubelet sets them.

use serde_json::Value;

use super::requests::items;
use crate::object::Object;

/// Returns the variables of a Service; none for one without an address of its own.
pub fn of_service(service: &Value) -> Vec<(String, String)> {
    let address = service["spec"]["clusterIP"].as_str().unwrap_or_default();
    let mut ports = items(&service["spec"]["ports"]).peekable();
    if matches!(address, "" | "None") || service["spec"]["type"] == "ExternalName" {
        return Vec::new();
    }
    let prefix = in_capitals(service.name());
    let number = |port: &Value| port["port"].as_u64().unwrap_or(0);
    // An address of IPv6 has colons of its own.
    let joined = if address.contains(':') {
        format!("[{address}]")
    } else {
        address.to_owned()
    };
    let mut all = vec![(format!("{prefix}_SERVICE_HOST"), address.to_owned())];
    let Some(first) = ports.peek() else { return all };
    all.push((format!("{prefix}_SERVICE_PORT"), number(first).to_string()));
    let (mut named, mut linked) = (Vec::new(), Vec::new());
    for (index, port) in ports.enumerate() {
        if let Some(name) = port["name"].as_str().filter(|name| !name.is_empty()) {
            named.push((
                format!("{prefix}_SERVICE_PORT_{}", in_capitals(name)),
                number(port).to_string(),
            ));
        }
        let protocol = port["protocol"].as_str().unwrap_or("TCP");
        let url = format!("{}://{joined}:{}", protocol.to_lowercase(), number(port));
        if index == 0 {
            linked.push((format!("{prefix}_PORT"), url.clone()));
        }
        let link = format!("{prefix}_PORT_{}_{}", number(port), protocol.to_uppercase());
        linked.push((format!("{link}_PROTO"), protocol.to_lowercase()));
        linked.push((format!("{link}_PORT"), number(port).to_string()));
        linked.push((format!("{link}_ADDR"), address.to_owned()));
        linked.push((link, url));
    }
    all.extend(named);
    all.extend(linked);
    all
}

fn in_capitals(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_is_found_by_its_variables() {
        let service = json!({"metadata": {"name": "my-db"}, "spec": {"clusterIP": "10.0.0.7", "ports": [
            {"name": "sql", "port": 5432, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}});
        let all: Vec<String> = of_service(&service)
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            all,
            [
                "MY_DB_SERVICE_HOST=10.0.0.7",
                "MY_DB_SERVICE_PORT=5432",
                "MY_DB_SERVICE_PORT_SQL=5432",
                "MY_DB_PORT=tcp://10.0.0.7:5432",
                "MY_DB_PORT_5432_TCP_PROTO=tcp",
                "MY_DB_PORT_5432_TCP_PORT=5432",
                "MY_DB_PORT_5432_TCP_ADDR=10.0.0.7",
                "MY_DB_PORT_5432_TCP=tcp://10.0.0.7:5432",
                "MY_DB_PORT_53_UDP_PROTO=udp",
                "MY_DB_PORT_53_UDP_PORT=53",
                "MY_DB_PORT_53_UDP_ADDR=10.0.0.7",
                "MY_DB_PORT_53_UDP=udp://10.0.0.7:53",
            ]
        );
        for headless in ["None", ""] {
            let service =
                json!({"metadata": {"name": "a"}, "spec": {"clusterIP": headless, "ports": [{"port": 1}]}});
            assert_eq!(of_service(&service), []);
        }
    }
}
