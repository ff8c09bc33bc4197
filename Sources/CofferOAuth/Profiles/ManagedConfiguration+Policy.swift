public import Coffer
public import CofferBase

extension ManagedConfiguration {
    /// Returns the configuration of this machine together with the administrator's policy, as a vault obeys
    /// it.
    ///
    /// The policy's keys about login servers replace those of the file as a group. Of the other restrictions,
    /// those of both count.
    ///
    /// - Parameter policy: The policy.
    /// - Returns: The configuration; `nil` if neither says anything about servers and sessions.
    /// - Throws: The errors of ``installed()``; `refused` if the policy has a value that OAuth cannot use.
    public static func installed(with policy: ManagedPolicy) throws(CofferError) -> ManagedConfiguration? {
        try combined(installed(), policy)
    }

    /// Returns a file's configuration together with a policy.
    static func combined(
        _ file: ManagedConfiguration?, _ policy: ManagedPolicy
    ) throws(CofferError) -> ManagedConfiguration? {
        let own: [PolicyKey] = [
            .requireCertAuth, .managedAppCertAlias, .appServiceHosts, .appServiceHostLabels,
            .onlyShowAuthorizedHosts, .refreshPolicy,
        ]
        guard own.contains(where: { policy[$0] != nil }) else { return file }
        let hasServers =
            policy[.appServiceHosts] != nil || policy[.onlyShowAuthorizedHosts] != nil
        return ManagedConfiguration(
            servers: hasServers ? try servers(of: policy) : file?.servers ?? [],
            allowsOnlyServers: hasServers
                ? policy.flag(.onlyShowAuthorizedHosts) ?? false : file?.allowsOnlyServers ?? false,
            requiresCertificate: policy.flag(.requireCertAuth) == true || file?.requiresCertificate == true,
            certificateAlias: policy.attribute(.managedAppCertAlias) ?? file?.certificateAlias,
            policy: file?.policy ?? .untilRevoked,
            policies: (file?.policies ?? []) + policy.grantPolicies)
    }

    private static func servers(of policy: ManagedPolicy) throws(CofferError) -> [LoginServer] {
        let labels = policy.list(.appServiceHostLabels)
        var servers: [LoginServer] = []
        for (index, host) in (policy.list(.appServiceHosts) ?? []).enumerated() {
            let url = try HTTPSURL(host)
            let label = labels.map { $0[index] } ?? url.host
            guard LoginServer.isLabel(label) else {
                throw policy.refusal(.appServiceHostLabels, "Label \(index + 1) cannot be used")
            }
            servers.append(LoginServer(label: label, url: url))
        }
        return servers
    }
}

extension ManagedPolicy {
    /// The ends of sessions that the policy requires.
    fileprivate var grantPolicies: [GrantPolicy] {
        switch attribute(.refreshPolicy) {
        case "firstUse"?: [.onceOnly]
        case "everyUse"?: [.eachStart]
        case "hourly"?: [.hourly]
        case "daily"?: [.daily]
        case "monthly"?: [.monthly]
        default: []
        }
    }
}
