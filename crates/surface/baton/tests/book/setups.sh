# What pages need and don't show, as functions for their hidden setups.

# free_of_the_machine: nothing of the machine's own settings reaches a page.
unset KUBECONFIG BATON_DATA_DIR XDG_DATA_HOME XDG_CONFIG_HOME
shopt -s expand_aliases

# quietly COMMAND...: what it prints is told only where it fails.
quietly() {
    local told
    if ! told=$("$@" 2>&1); then
        printf '%s: %s\n' "$*" "$told"
        return 1
    fi
}

# until_it_holds COMMAND...: repeats a command until it succeeds.
until_it_holds() {
    local told tries=300
    until told=$("$@" 2>&1); do
        tries=$((tries - 1))
        if [ $tries -eq 0 ]; then
            printf '%s: %s\n' "$*" "$told"
            return 1
        fi
        sleep 0.2
    done
}

# start LOG WORDS COMMAND...: starts something that stays, and waits until its log has the words.
start() {
    local log=$TMPDIR/$1.log words=$2
    shift 2
    "$@" >"$log" 2>&1 </dev/null &
    until_it_holds grep -q -e "$words" "$log"
}

# stop_started: ends what was started, here or by the page.
stop_started() {
    # shellcheck disable=SC2046
    kill $(jobs -p)
    wait
}

# cargo: the program is built, or there would be nobody to run this.
cargo() {
    if [ "$1" != build ]; then
        echo "cargo $* is not for a page"
        return 1
    fi
}

# start_registry: an empty registry at 127.0.0.1:5000.
start_registry() { start registry 127.0.0.1:5000 baton registry serve --storage "$TMPDIR/a-registry"; }

# start_stage: an API without controllers of OLM; $KUBECONFIG leads there.
start_stage() {
    start stage 'Kubernetes API at' baton stage --kubeconfig "$TMPDIR/stage.kubeconfig"
    export KUBECONFIG=$TMPDIR/stage.kubeconfig
}

# start_up: everything on one machine; $KUBECONFIG leads there.
start_up() {
    start up Ctrl-C baton up "$@"
    export KUBECONFIG=$HOME/.local/share/baton/baton.kubeconfig
}

# publish_tree VERSION: the tree of this folder as the tour publishes it, operator image and all, as $OPERATOR or to $REGISTRY.
publish_tree() {
    local operator=${OPERATOR:-$REGISTRY/models/stack-operator}
    quietly baton publish --yes --update-permissions --version "$1" \
        --image "$operator:$1" --bundle-image "$operator-bundle:$1" --catalog-image "$operator-catalog:latest"
}

# apply_stack_definition: the kind InferenceStack, as the example's bundle defines it.
apply_stack_definition() {
    local tree=$TMPDIR/definition
    cp -r "$EXAMPLES/inference-stack" "$tree"
    (cd "$tree" && quietly baton bundle generate --version 2.0.0 --image example.com/none:1 --separate-crds) || return 1
    quietly kubectl apply -f "$tree/crds"
    until_it_holds kubectl get inferencestacks
}

# start_operator: an operator for InferenceStacks with the label operatorVersion=v2.
start_operator() {
    apply_stack_definition || return 1
    (
        cd "$EXAMPLES/inference-stack" || exit 1
        exec baton operator run --watches-file watches.yaml --metrics-bind-address 0 --health-probe-bind-address 0
    ) >"$TMPDIR/operator.log" 2>&1 </dev/null &
}

# publish_next VERSION: raises the version of the tree of this folder, adds it to its catalog, and publishes it.
publish_next() {
    sed -i "s/^version:.*/version: $1/" chart/Chart.yaml
    echo "  - Image: ${OPERATOR:-$REGISTRY/models/stack-operator}-bundle:$1" >>catalog/operator_catalog.yaml
    publish_tree "$1"
}

# example_without_versions: the example's tree, with nothing in its catalog, becomes the folder of the page.
example_without_versions() {
    cp -r "$EXAMPLES/inference-stack" "$TMPDIR/tree" && cd "$TMPDIR/tree" || return 1
    printf 'Schema: olm.semver\nGenerateMajorChannels: true\nStable:\n  Bundles:\n' >catalog/operator_catalog.yaml
}

# make_stack NAME REPLICAS: an InferenceStack in the namespace stacks, until it is ready.
make_stack() {
    cat >"$TMPDIR/$1.yaml" <<EOF
apiVersion: models.example.com/v1alpha1
kind: InferenceStack
metadata: {name: $1, labels: {operatorVersion: v2}}
spec:
  applications:
    chat: {replicaCount: $2, readerConfig: {modelName: example/small-chat-7b}}
EOF
    until_it_holds kubectl apply -n stacks -f "$TMPDIR/$1.yaml" || return 1
    quietly kubectl wait -n stacks --for=condition=Ready --timeout=2m "inferencestack/$1"
}

# rehearsal: version 2.2.0 is installed and looks after two stacks; 2.3.0 is published, with one more argument for the
# model server, and allows no more than 5 replicas.
rehearsal() {
    example_without_versions || return 1
    publish_next 2.2.0 || return 1
    quietly baton catalog add models "$REGISTRY/models/stack-operator-catalog:latest" --poll 1 || return 1
    quietly baton install inference-stack-operator --name stack --namespace operators --version 2.2.0 || return 1
    quietly kubectl create namespace stacks || return 1
    make_stack chat 1 && make_stack code 6 || return 1
    sed -i 's|^            - --config=.*|&\n            - --warm-up|' chart/templates/applications.yaml
    sed -i '5a {{- if gt (int $application.replicaCount) 5 }}{{ fail "at most 5 replicas" }}{{ end }}' \
        chart/templates/applications.yaml
    publish_next 2.3.0
}

# publish_bundles REPOSITORY VERSION...: bundles of the example and a catalog with them in channel stable-vMAJOR, without
# operator images: pods of such an operator are simulated.
publish_bundles() {
    local repository=$1 version tree
    shift
    tree=$TMPDIR/published
    rm -rf "$tree"
    cp -r "$EXAMPLES/inference-stack" "$tree"
    {
        printf 'Schema: olm.semver\nGenerateMajorChannels: true\nStable:\n  Bundles:\n'
        for version in "$@"; do printf '  - Image: %s-bundle:%s\n' "$repository" "$version"; done
    } >"$tree/catalog/operator_catalog.yaml"
    for version in "$@"; do
        (
            cd "$tree" && sed -i "s/^version:.*/version: $version/" chart/Chart.yaml &&
                quietly baton bundle generate --version "$version" --update-permissions \
                    --image "example.com/models/stack-operator:$version" &&
                quietly baton opm alpha bundle build --directory bundle/manifests --tag "$repository-bundle:$version" \
                    --package inference-stack-operator --channels stable --default stable --overwrite &&
                quietly baton bundle push "$repository-bundle:$version"
        ) || return 1
    done
    (
        cd "$tree" &&
            quietly baton catalog template catalog/operator_catalog.yaml --output catalog/configs/catalog.yaml &&
            quietly baton catalog push "$repository-catalog:latest" --from catalog/configs
    )
}

REPOSITORY=$PWD
EXAMPLES=$PWD/examples
