/**
 * What is promised by name. Each is held by a test that has its id in its title, or in that of its suite, or it says why there is none
 * yet; the page that is made of them is refused otherwise.
 */

export interface Promised {
  readonly id: string;
  /** What holds here, a sentence. */
  readonly holds: string;
  /** The public report of what happened where it did not. */
  readonly report?: string;
  /** Why no test has its id yet. */
  readonly open?: string;
}

export interface PromisedGroup {
  readonly title: string;
  readonly introduction: string;
  readonly promises: readonly Promised[];
}

const tunnels = 'Comes with tunnels.';
const aggregated = 'Comes with the aggregated API.';
const operator = 'Comes with the operator.';

const fieldReports: PromisedGroup = {
  title: 'Field reports',
  introduction:
    'What broke for people who run gateways, operators and HTTP clients like ours, and what holds here instead.',
  promises: [
    {
      id: 'BB-01',
      holds: 'A watch that ends and is asked for again costs no connection.',
      report: 'https://github.com/kubernetes-client/javascript/issues/2893',
    },
    {
      id: 'BB-02',
      holds: 'Memory, connections and timers follow the clusters in use, not all that were ever visited.',
      report: 'https://github.com/kubernetes/kubernetes/issues/109289',
    },
    {
      id: 'BB-04',
      holds: 'The same content delivered again builds nothing anew.',
      report: 'https://github.com/kubernetes/kubernetes/issues/117250',
    },
    {
      id: 'BB-05',
      holds: 'A rotation replaces; however many there were, one generation is left.',
      report: 'https://github.com/kyma-project/lifecycle-manager/pull/2216',
    },
    {
      id: 'BB-06',
      holds: 'After a rotation watches go on with the new credential, none with the old one.',
      report: 'https://github.com/kubernetes-sigs/cluster-api/issues/9542',
    },
    {
      id: 'BB-08',
      holds: 'A removed cluster is not dialed again.',
      report: 'https://github.com/argoproj/argo-cd/issues/21213',
    },
    {
      id: 'BB-09',
      holds: 'Nothing runs on for what was disposed of.',
      report: 'https://github.com/kubernetes/client-go/issues/939',
    },
    {
      id: 'BB-10',
      holds: 'What is in use is never evicted.',
      report: 'https://github.com/kubernetes/kubernetes/pull/117287',
    },
    {
      id: 'BB-11',
      holds: 'A credential plugin costs no connection: what it gives is compared by content.',
      report: 'https://github.com/kubernetes/kubernetes/pull/108274',
    },
    {
      id: 'BB-12',
      holds: 'Whatever changes who is trusted or who we are is another transport.',
      report: 'https://github.com/nodejs/node/issues/4652',
    },
    {
      id: 'BB-14',
      holds: 'Every kind of request shows the new certificate, logs and exec alike.',
      report: 'https://github.com/kubernetes/kubernetes/issues/114588',
    },
    {
      id: 'BB-15',
      holds: 'A CA that is replaced is in use without a restart.',
      report: 'https://github.com/kubernetes/kubernetes/issues/119483',
    },
    {
      id: 'BB-16',
      holds: 'A certificate whose key has not come yet is not used.',
      report: 'https://github.com/cloudflare/certinel/issues/14',
    },
    {
      id: 'BB-17',
      holds: 'A change between the first read and the first look at the folder is not missed.',
      report: 'https://github.com/notaryproject/ratify/issues/993',
    },
    {
      id: 'BB-19',
      holds: 'A CA of callers that rotates is taken over while connections are open.',
      report: 'https://github.com/kubevirt/containerized-data-importer/pull/807',
      open: 'That of a front proxy comes with the aggregated API.',
    },
    {
      id: 'BB-20',
      holds: 'A token that is replaced is sent, and a refused one is read anew, once.',
      report: 'https://github.com/kubernetes-client/javascript/issues/228',
    },
    {
      id: 'BB-21',
      holds: 'A wave of 401s on all watches is got over, without a deadlock and without a storm.',
      report: 'https://github.com/argoproj/argo-cd/issues/28928',
    },
    {
      id: 'BB-22',
      holds: 'A credential plugin that fails is run seldom, and leaves no process.',
      report: 'https://github.com/kubernetes/kubectl/issues/1492',
    },
    {
      id: 'BB-23',
      holds: 'A silent network is noticed within ten seconds; slow is not silent.',
      report: 'https://github.com/kubernetes/kubernetes/issues/87615',
    },
    {
      id: 'BB-25',
      holds: 'A connection that ends as it is used again costs no read, and no write is executed twice.',
      report: 'https://github.com/nodejs/undici/issues/583',
    },
    {
      id: 'BB-27',
      holds: 'GOAWAY under a write: executed once, or 503 with Retry-After and not executed.',
      report: 'https://github.com/gravitational/teleport/issues/57766',
    },
    {
      id: 'BB-28',
      holds: 'Closing lets what is under way come to its end, over both protocols.',
      report: 'https://github.com/nodejs/undici/issues/3671',
    },
    {
      id: 'BB-29',
      holds: 'What is over its time does not count against a limit.',
      report: 'https://github.com/nodejs/undici/issues/5144',
    },
    {
      id: 'BB-32',
      holds: 'What is sent again is byte for byte what was sent.',
      report: 'https://github.com/nodejs/undici/issues/3288',
    },
    {
      id: 'BB-33',
      holds: 'The idle time of the gateway is longer than that of a balancer, and shutdown resets nothing.',
      report: 'https://github.com/nodejs/node/issues/17749',
    },
    {
      id: 'BB-34',
      holds: 'The moment after a reset is safe: the next request goes over another connection.',
      report: 'https://github.com/nodejs/node/issues/63412',
    },
    {
      id: 'BB-35',
      holds: 'An upgrade that is refused leaves no way to the cluster.',
      report: 'https://github.com/kubernetes/kubernetes/issues/71411',
    },
    {
      id: 'BB-36',
      holds: 'Any other answer to an upgrade than 101 leaves no socket.',
      report: 'https://github.com/sagemathinc/http-proxy-3/issues/26',
    },
    {
      id: 'BB-38',
      holds: 'A client that dies takes the other half of its session along.',
      report: 'https://github.com/http-party/node-http-proxy/issues/559',
    },
    {
      id: 'BB-39',
      holds: 'Half-closed sessions end.',
      report: 'https://github.com/hyoo-ru/mam_mol/pull/881',
    },
    {
      id: 'BB-40',
      holds: 'A reset, at any moment of a session, ends that session only.',
      report: 'https://github.com/http-party/node-http-proxy/issues/1468',
    },
    {
      id: 'BB-42',
      holds: 'An upgrade goes over HTTP/1.1, whatever the other connections speak.',
      report: 'https://github.com/rancher/rancher/issues/25737',
    },
    {
      id: 'BB-43',
      holds: 'A WebSocket is an upgrade, not a round trip.',
      report: 'https://github.com/portainer/portainer/issues/12880',
    },
    {
      id: 'BB-44',
      holds: 'The end of standard input loses no output.',
      report: 'https://github.com/kubernetes/kubernetes/issues/89899',
    },
    {
      id: 'BB-46',
      holds: 'Connections through one port-forward leave nothing.',
      report: 'https://github.com/kubernetes/kubernetes/issues/78446',
    },
    {
      id: 'BB-47',
      holds: 'One bad connection does not end its port-forward.',
      report: 'https://github.com/kubernetes/kubectl/issues/1169',
    },
    {
      id: 'BB-48',
      holds: 'A session ends when its target or its way is gone.',
      report: 'https://github.com/gravitational/teleport/issues/54814',
    },
    {
      id: 'BB-50',
      holds: 'A command that is over leaves no connection at the cluster.',
      report: 'https://github.com/kubernetes/kubernetes/issues/67659',
    },
    {
      id: 'BB-51',
      holds: 'Sessions leave no listener and no state.',
      report: 'https://github.com/nodejs/undici/pull/5761',
    },
    {
      id: 'BB-52',
      holds: 'Sessions go through the proxy that requests go through.',
      report: 'https://github.com/freelensapp/freelens/issues/1200',
    },
    {
      id: 'BB-53',
      holds: 'A watch that has gone silent is noticed.',
      report: 'https://github.com/kubernetes-client/javascript/issues/596',
    },
    {
      id: 'BB-54',
      holds: 'A quiet stream is not cut.',
      report: 'https://github.com/folio-pro/kdashboard/issues/60',
    },
    {
      id: 'BB-55',
      holds: 'The deadline of an aggregated request does not cut its streams.',
      report: 'https://github.com/karmada-io/karmada/issues/1618',
      open: aggregated,
    },
    {
      id: 'BB-56',
      holds: 'A small event is at the client at once.',
      report: 'https://github.com/kubernetes/kubernetes/issues/11678',
    },
    {
      id: 'BB-59',
      holds: 'A reader that stalls costs a bounded amount of memory.',
      report: 'https://github.com/kubernetes/kubernetes/issues/123448',
    },
    {
      id: 'BB-61',
      holds: 'A signal has no more listeners than there are requests under way.',
      report: 'https://github.com/nodejs/node/issues/55351',
    },
    {
      id: 'BB-62',
      holds: 'A client cannot have identity fields dropped.',
      report: 'https://github.com/projectcapsule/capsule-proxy/issues/188',
    },
    {
      id: 'BB-63',
      holds: 'A client cannot add identity fields.',
      report: 'https://github.com/open-cluster-management-io/cluster-proxy/pull/329',
    },
    {
      id: 'BB-65',
      holds: 'Identity fields are recognised under whatever name they are configured.',
      report: 'https://github.com/kubernetes/kubernetes/issues/119631',
    },
    {
      id: 'BB-66',
      holds: 'A redirect of a cluster is not followed and not passed on; 304 is.',
      report: 'https://github.com/kubernetes/kubernetes/issues/112513',
    },
    {
      id: 'BB-68',
      holds: 'Tunnels leave no descriptor and no memory.',
      report: 'https://github.com/kubernetes-sigs/apiserver-network-proxy/issues/276',
      open: tunnels,
    },
    {
      id: 'BB-69',
      holds: 'One slow reader does not stall its neighbours in the tunnel.',
      report: 'https://github.com/kubernetes-sigs/apiserver-network-proxy/issues/881',
      open: tunnels,
    },
    {
      id: 'BB-71',
      holds: 'A handshake with a proxy that fails leaves no socket.',
      report: 'https://github.com/nodejs/undici/issues/5704',
    },
    {
      id: 'BB-72',
      holds: 'A reconcile costs no connection.',
      report: 'https://github.com/grafana/grafana-operator/pull/298',
      open: operator,
    },
    {
      id: 'BB-74',
      holds: 'A missing dependency is waited for.',
      report: 'https://github.com/external-secrets/external-secrets/issues/288',
      open: operator,
    },
    {
      id: 'BB-75',
      holds: 'What is deleted goes, whatever went before it.',
      report: 'https://github.com/epam/edp-keycloak-operator/issues/62',
      open: operator,
    },
    {
      id: 'BB-77',
      holds: 'A Secret that is rotated is in use without a restart.',
      report: 'https://github.com/temporalio/temporal-worker-controller/issues/295',
      open: operator,
    },
  ],
};

const behaviours: PromisedGroup = {
  title: 'What the reference gateway does right',
  introduction:
    'A behaviour of the cluster gateway that was mended first, kept here; where our contract goes further, it is ours.',
  promises: [
    { id: 'G1', holds: 'Tokens, callers and impersonation are no part of what a transport is.' },
    { id: 'G2', holds: 'Each client certificate is a transport of its own.' },
    { id: 'G3', holds: 'The number of transports does not grow with the number of requests.' },
    { id: 'G4', holds: 'Requests one after the other use one connection; at once, no more than the limit.' },
    { id: 'G5', holds: 'A new token is sent with the next request, over the connections that there are.' },
    { id: 'G6', holds: 'No request reads a file or derives a transport.' },
    { id: 'G7', holds: 'A connection outlives the request that it was opened for.' },
    { id: 'G8', holds: 'A failure to build goes to those who waited, and is not kept.' },
    { id: 'G9', holds: 'Where the way is not available there is no other way.' },
    { id: 'G10', holds: 'Files are read once an interval, also when nobody dials.' },
    { id: 'G11', holds: 'A change is one of content, not of time stamps.' },
    { id: 'G12', holds: 'CA and certificate reload independently of each other.' },
    {
      id: 'G13',
      holds: 'What cannot be read leaves the last good in use; at the start it is an error.',
    },
    {
      id: 'G14',
      holds: 'A CA that cannot be parsed is not kept, so that going back is no rotation.',
    },
    { id: 'G15', holds: 'The first load is no rotation.' },
    {
      id: 'G16',
      holds: 'A change is one rotation, which ends what was opened before it, by the drain rules.',
    },
    { id: 'G17', holds: 'Equal content is one transport, changed content is another.' },
    { id: 'G18', holds: 'The map is bounded, and the least recently used one leaves it.' },
    { id: 'G19', holds: 'An upgrade goes over the transport of its cluster, direct or not.' },
  ],
};

const weaknesses: PromisedGroup = {
  title: 'What it does wrong',
  introduction: 'The opposite of each weakness that was found in it.',
  promises: [
    { id: 'W1', holds: 'Upgrades share the TLS sessions, the trust and the limits of their transport.' },
    { id: 'W2', holds: 'A proxy-url holds for upgrades.' },
    { id: 'W3', holds: 'Nothing is hashed, parsed or searched through for each request.' },
    { id: 'W4', holds: 'A rotation is noticed under a connection that is always warm.' },
    {
      id: 'W5',
      holds: 'A rotation drains, for one cluster at a time, and spreads what it ends.',
    },
    { id: 'W6', holds: 'No request waits for a slow close.' },
    { id: 'W7', holds: 'An empty or truncated CA file leaves the last good in use.' },
    {
      id: 'W8',
      holds: 'A certificate and its key change together, and one change is one rotation.',
    },
    { id: 'W9', holds: 'Former generations are let go.' },
    { id: 'W10', holds: 'Clusters behind a proxy are pooled.' },
    { id: 'W11', holds: 'A cluster that is removed ends its connections, watches and sessions.' },
    { id: 'W12', holds: 'TLS is verified inside the tunnel.', open: tunnels },
    { id: 'W13', holds: 'Tunnels share few connections.', open: tunnels },
    { id: 'W14', holds: 'Signs of life are asked for no more often than the proxy allows.', open: tunnels },
    { id: 'W15', holds: 'A slow reader harms itself only.', open: tunnels },
    {
      id: 'W16',
      holds: 'Everything is bounded, and what is down is not dialed by each request.',
    },
    { id: 'W17', holds: 'Pools have metrics, and each rotation is told.' },
    { id: 'W18', holds: 'A proxy of the environment is used only where it is asked for.' },
  ],
};

export const promisedGroups: readonly PromisedGroup[] = [fieldReports, behaviours, weaknesses];
