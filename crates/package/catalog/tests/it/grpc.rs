//! Every recorded answer of a served catalog, asked over a real socket.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::grpc;
use catalog::reading::{Source, digest};
use catalog::store::{CurrentStore, Store, StoreWriter};
use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

/// Builds the store of a catalog.
fn build(configs: &Path, folder: &Path) -> Store {
    let source = || Source::Directory(configs);
    let mut writer = StoreWriter::create(folder, &digest(source()).unwrap()).unwrap();
    writer.push_all(source()).unwrap();
    writer.finish_with_registry().unwrap()
}

/// A served catalog and a connection to it.
struct Served {
    channel: Channel,
    descriptors: DescriptorPool,
    stop: tokio::sync::oneshot::Sender<()>,
    server: tokio::task::JoinHandle<Result<(), grpc::ServeError>>,
    _folder: tempfile::TempDir,
}

impl Served {
    async fn start(configs: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = build(configs, folder.path());
        store.verify().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let server = tokio::spawn(grpc::serve(Arc::new(CurrentStore::new(store)), listener, async {
            stopped.await.ok();
        }));
        let channel = Channel::from_shared(format!("http://{address}"))
            .unwrap()
            .connect()
            .await
            .unwrap();
        let mut descriptors = DescriptorPool::decode(grpc::DESCRIPTORS).unwrap();
        descriptors
            .decode_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .unwrap();
        Self {
            channel,
            descriptors,
            stop,
            server,
            _folder: folder,
        }
    }

    /// Makes a call with a request in protobuf's JSON, and returns the answers in the same.
    async fn call(&self, service: &str, method: &str, mut request: Value) -> Result<Vec<Value>, Status> {
        let acknowledgement = request
            .as_object_mut()
            .and_then(|fields| fields.remove("x-acknowledge-experimental"));
        let service = self.descriptors.get_service_by_name(service).unwrap();
        let method = service.methods().find(|known| known.name() == method).unwrap();
        let message = DynamicMessage::deserialize(method.input(), request).unwrap();
        let mut request = Request::new(message);
        if let Some(value) = acknowledgement
            .as_ref()
            .and_then(Value::as_str)
            .filter(|value| !value.is_empty())
        {
            request
                .metadata_mut()
                .insert("x-acknowledge-experimental", value.parse().unwrap());
        }
        let path = format!("/{}/{}", service.full_name(), method.name())
            .parse()
            .unwrap();
        let mut client = Grpc::new(self.channel.clone()).max_decoding_message_size(usize::MAX);
        client.ready().await.unwrap();
        let codec = DynamicCodec(method.clone());
        let mut answers = Vec::new();
        if method.is_server_streaming() {
            let mut stream = client.server_streaming(request, path, codec).await?.into_inner();
            while let Some(answer) = stream.message().await? {
                answers.push(json_of(&answer));
            }
        } else {
            answers.push(json_of(&client.unary(request, path, codec).await?.into_inner()));
        }
        Ok(answers)
    }

    async fn stop(self) {
        drop(self.channel);
        self.stop.send(()).unwrap();
        self.server.await.unwrap().unwrap();
    }
}

fn json_of(message: &DynamicMessage) -> Value {
    message
        .serialize_with_options(
            serde_json::value::Serializer,
            &SerializeOptions::new().use_proto_field_name(false),
        )
        .unwrap()
}

struct DynamicCodec(MethodDescriptor);

impl Codec for DynamicCodec {
    type Encode = DynamicMessage;
    type Decode = DynamicMessage;
    type Encoder = DynamicEncoder;
    type Decoder = DynamicDecoder;

    fn encoder(&mut self) -> Self::Encoder {
        DynamicEncoder
    }

    fn decoder(&mut self) -> Self::Decoder {
        DynamicDecoder(self.0.output())
    }
}

struct DynamicEncoder;

impl Encoder for DynamicEncoder {
    type Item = DynamicMessage;
    type Error = Status;

    fn encode(&mut self, item: Self::Item, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(buffer)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

struct DynamicDecoder(MessageDescriptor);

impl Decoder for DynamicDecoder {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Self::Item>, Status> {
        DynamicMessage::decode(self.0.clone(), buffer)
            .map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

fn corpus() -> Option<PathBuf> {
    Some(corpus::open("catalog")?.join("catalog-corpus/grpc"))
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn service_of(method: &str) -> &'static str {
    match method {
        "Check" => "grpc.health.v1.Health",
        "ExperimentalListPackageCustomSchemas" => "api.ExperimentalRegistry",
        _ => "api.Registry",
    }
}

/// The answer as it was recorded: lists of channel entries sorted, errors with their code.
fn recorded(method: &str, is_streaming: bool, outcome: Result<Vec<Value>, Status>) -> Value {
    match outcome {
        Err(status) => json!({"code": format!("{:?}", status.code()), "error": status.message()}),
        Ok(mut answers) if is_streaming => {
            if method.contains("ChannelEntries") {
                answers.sort_by_key(Value::to_string);
            }
            json!({"response": answers})
        }
        Ok(answers) => json!({"response": answers[0]}),
    }
}

async fn answers_are_those_recorded(case: &str) {
    let Some(corpus) = corpus() else { return };
    let served = Served::start(&corpus.join(case).join("configs")).await;
    let mut calls = 0;
    let mut files: Vec<PathBuf> = fs::read_dir(corpus.join(case).join("expect"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let stem = stem.strip_prefix("Health.").unwrap_or(&stem);
        let lines = lines(&file);
        if stem.starts_with("List") {
            let answers = served.call("api.Registry", stem, json!({})).await.unwrap();
            assert_eq!(answers.len(), lines.len(), "{case}: {stem}");
            for (answer, line) in answers.iter().zip(&lines) {
                assert_eq!(answer, line, "{case}: {stem}");
                calls += 1;
            }
            continue;
        }
        for line in lines {
            let method = line.get("method").and_then(Value::as_str).unwrap_or(stem);
            let outcome = served
                .call(service_of(method), method, line["request"].clone())
                .await;
            let is_streaming = line["response"].is_array() || method.contains("ChannelEntries");
            let mut expected = line.clone();
            for field in ["request", "method"] {
                expected.as_object_mut().unwrap().remove(field);
            }
            assert_eq!(
                recorded(method, is_streaming, outcome),
                expected,
                "{case}: {method} {}",
                line["request"]
            );
            calls += 1;
        }
    }
    assert!(calls > 50, "{case}: only {calls} calls were compared");
    served.stop().await;
}

#[tokio::test]
async fn a_small_catalog_is_answered_as_recorded() {
    answers_are_those_recorded("small").await;
}

#[tokio::test]
async fn real_packages_are_answered_as_recorded() {
    answers_are_those_recorded("real").await;
}

#[tokio::test]
async fn bundles_with_manifests_are_answered_as_recorded() {
    answers_are_those_recorded("objects").await;
}

fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const FOO: &str = r#"{"schema":"olm.package","name":"foo","defaultChannel":"stable"}
{"schema":"olm.channel","package":"foo","name":"stable","entries":[{"name":"foo.v1.0.0"}]}
{"schema":"olm.bundle","package":"foo","name":"foo.v1.0.0","image":"quay.io/a/foo:1","properties":[{"type":"olm.package","value":{"packageName":"foo","version":"1.0.0"}}]}
"#;

#[tokio::test]
async fn reflection_names_every_service_in_both_versions() {
    use tonic_reflection::pb::{v1, v1alpha};
    let configs = written(&[("catalog.json", FOO)]);
    let served = Served::start(configs.path()).await;
    let expected = [
        "api.ExperimentalRegistry",
        "api.Registry",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
    ];

    let request = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(
            String::new(),
        )),
    };
    let mut client = v1::server_reflection_client::ServerReflectionClient::new(served.channel.clone());
    let mut answers = client
        .server_reflection_info(tokio_stream::once(request))
        .await
        .unwrap()
        .into_inner();
    let Some(v1::server_reflection_response::MessageResponse::ListServicesResponse(list)) =
        answers.message().await.unwrap().unwrap().message_response
    else {
        panic!("not a list of services");
    };
    let mut names: Vec<String> = list.service.into_iter().map(|service| service.name).collect();
    names.sort();
    assert_eq!(names, expected);

    let request = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(
            v1alpha::server_reflection_request::MessageRequest::FileContainingSymbol("api.Registry".into()),
        ),
    };
    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(served.channel.clone());
    let mut answers = client
        .server_reflection_info(tokio_stream::once(request))
        .await
        .unwrap()
        .into_inner();
    assert!(matches!(
        answers.message().await.unwrap().unwrap().message_response,
        Some(v1alpha::server_reflection_response::MessageResponse::FileDescriptorResponse(_))
    ));
    drop((client, answers));
    served.stop().await;
}

#[tokio::test]
async fn a_query_for_a_custom_schema_with_a_path_in_it_is_refused() {
    let configs = written(&[("catalog.json", FOO)]);
    let served = Served::start(configs.path()).await;
    let request = json!({"schema": "../x", "packageName": "foo", "x-acknowledge-experimental": "true"});
    let status = served
        .call(
            "api.ExperimentalRegistry",
            "ExperimentalListPackageCustomSchemas",
            request,
        )
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(
        status.message(),
        "invalid custom schema query: invalid schema \"../x\": must match ^[a-zA-Z0-9][a-zA-Z0-9._-]*$"
    );
    served.stop().await;
}

#[test]
fn an_invalid_catalog_is_refused_with_the_words_of_opm() {
    let cases = [
        (
            r#"{"schema":"olm.package","name":"bar","defaultChannel":"stable"}"#.to_owned(),
            "build package index: process package \"bar\": invalid index:\n└── invalid package \"bar\":\n    └── invalid channel \"stable\":\n        └── channel must contain at least one bundle",
        ),
        (
            r#"{"schema":"olm.channel","package":"bar","name":"c","entries":[]}"#.to_owned(),
            "build package index: process package \"bar\": unknown package \"bar\" for channel \"c\"",
        ),
        (
            r#"{"name":"x"}"#.to_owned(),
            "invalid custom schema meta: invalid schema: must not be empty",
        ),
        (
            r#"{"schema":"a/b"}"#.to_owned(),
            "invalid custom schema meta: invalid schema \"a/b\": must match ^[a-zA-Z0-9][a-zA-Z0-9._-]*$",
        ),
        (
            FOO.replace(
                r#""version":"1.0.0"}}"#,
                r#""version":"1.0.0"}},{"type":"olm.csv.metadata","value":{}},{"type":"olm.csv.metadata","value":{}}"#,
            ),
            "build package index: process package \"foo\": parse properties: expected at most 1 property of type \"olm.csv.metadata\", found 2",
        ),
    ];
    for (text, message) in cases {
        let configs = written(&[("catalog.json", &text)]);
        let folder = tempfile::tempdir().unwrap();
        let source = || Source::Directory(configs.path());
        let mut writer = StoreWriter::create(folder.path(), &digest(source()).unwrap()).unwrap();
        writer.push_all(source()).unwrap();
        let error = writer.finish_with_registry().unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            0,
            "nothing is left behind"
        );
    }
}
