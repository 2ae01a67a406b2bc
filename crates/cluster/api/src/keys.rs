//! The labels, annotations and finalizers that the objects of OLM v1 carry.

/// The API group of OLM v1.
pub const GROUP: &str = "olm.operatorframework.io";

/// The label of a ClusterCatalog that holds its own name, so that selectors can pick it.
pub const METADATA_NAME: &str = "olm.operatorframework.io/metadata.name";

/// The kind of what an object was made for.
pub const OWNER_KIND: &str = "olm.operatorframework.io/owner-kind";

/// The name of what an object was made for.
pub const OWNER_NAME: &str = "olm.operatorframework.io/owner-name";

/// The package that an object comes from.
pub const PACKAGE_NAME: &str = "olm.operatorframework.io/package-name";

/// The bundle that an object comes from.
pub const BUNDLE_NAME: &str = "olm.operatorframework.io/bundle-name";

/// The version of the bundle that an object comes from.
pub const BUNDLE_VERSION: &str = "olm.operatorframework.io/bundle-version";

/// The release of the bundle that an object comes from.
pub const BUNDLE_RELEASE: &str = "olm.operatorframework.io/bundle-release";

/// The image of the bundle that an object comes from.
pub const BUNDLE_REFERENCE: &str = "olm.operatorframework.io/bundle-reference";

/// The ClusterObjectSet whose objects a Secret keeps.
pub const REVISION_NAME: &str = "olm.operatorframework.io/revision-name";

/// Marks the first revision of an extension that was installed by Helm.
pub const MIGRATED_FROM_HELM: &str = "olm.operatorframework.io/migrated-from-helm";

/// The revision that applied an object last.
pub const REVISION: &str = "olm.operatorframework.io/revision";

/// The properties of a bundle, as a JSON list.
pub const PROPERTIES: &str = "olm.properties";

/// Keeps a ClusterCatalog until its content is deleted.
pub const DELETE_SERVER_CACHE: &str = "olm.operatorframework.io/delete-server-cache";

/// Keeps a ClusterExtension until its unpacked bundle is deleted.
pub const CLEANUP_UNPACK_CACHE: &str = "olm.operatorframework.io/cleanup-unpack-cache";

/// Kept extensions that upstream's Helm applier installed; only ever removed here.
pub const CLEANUP_CONTENT_MANAGER_CACHE: &str = "olm.operatorframework.io/cleanup-contentmanager-cache";

/// Keeps a ClusterObjectSet until its objects are let go.
pub const TEARDOWN: &str = "olm.operatorframework.io/teardown";

/// The type of the Secrets that keep the objects of revisions.
pub const OBJECT_DATA: &str = "olm.operatorframework.io/object-data";

/// Who applies the spec of revisions for a `ClusterExtension`.
pub const EXTENSION_FIELD_OWNER: &str = "olm.operatorframework.io/clusterextension-controller";

/// Who applies the objects of revisions.
pub const OBJECT_FIELD_OWNER: &str = "olm.operatorframework.io";

/// How an extension goes to another version: `manual` waits until somebody approves it.
pub const APPROVAL: &str = "baton-olm.dev/approval";

/// The version that somebody approved.
pub const APPROVE: &str = "baton-olm.dev/approve";

/// The version that waits; written by the controller.
pub const WAITING: &str = "baton-olm.dev/waiting";

/// Whether an extension is left as it is: `true` or `false`.
pub const PAUSE: &str = "baton-olm.dev/pause";

/// When an installed extension may go to another version, such as `Sat,Sun 02:00-05:00 UTC`.
pub const WINDOW: &str = "baton-olm.dev/window";

/// What becomes of a version that does not roll out in time: `rollback` goes back to the last that did.
pub const ON_FAILURE: &str = "baton-olm.dev/on-failure";

/// What stays when an extension is deleted: `keep-crds` or `orphan`.
pub const ON_DELETE: &str = "baton-olm.dev/on-delete";

/// Says of an object that its extension left it behind on purpose: whoever installs the package again has it.
pub const KEPT: &str = "baton-olm.dev/kept";

/// Says of a definition that it only stands in for the one of the package whose name it carries: that package's extension may have it,
/// whatever it says.
pub const STAND_IN: &str = "baton-olm.dev/stand-in";

/// A bundle image that is installed as it is, whatever catalogs have.
pub const BUNDLE_IMAGE: &str = "baton-olm.dev/bundle-image";

/// Which objects that exist already an extension may take over: `unowned`, those without a controller.
pub const ADOPT: &str = "baton-olm.dev/adopt";

/// The version that a revision was made to get away from.
pub const ROLLED_BACK_FROM: &str = "baton-olm.dev/rolled-back-from";

/// Who had signed the bundle of a revision when it was made, or that nobody had to; written by the controller.
pub const SIGNATURE: &str = "baton-olm.dev/signature";

/// The namespace of OLM v1 itself, where nothing else is said.
pub const SYSTEM_NAMESPACE: &str = "olmv1-system";

/// The Secret with credentials for the registry of one catalog: `<namespace>/<name>`.
pub const PULL_SECRET: &str = "baton-olm.dev/pull-secret";
