namespace RedisClone.Configuration;

/// <summary>The parameters for passwords, users and protected features.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Security() =>
    [
        Text("requirepass", null, static c => ref c.RequirePass, "Password of the default user.", flags: Secret),
        Text("aclfile", "", static c => ref c.AclFile, "File with the ACL users, one on each line.", flags: Immutable),
        Long("acllog-max-len", 128, 0, static c => ref c.AclLogMaxLen, "Entries that ACL LOG keeps."),
        Choice("acl-pubsub-default", false, ConfigChoices.AclPubsubDefault, static c => ref c.AclPubsubAllChannels,
            "Permissions of a new ACL user for channels."),
        Choice("enable-protected-configs", ProtectedAction.No, ConfigChoices.Protected, static c => ref c.EnableProtectedConfigs,
            "Clients that may change protected parameters with CONFIG SET.", Immutable),
        Choice("enable-debug-command", ProtectedAction.No, ConfigChoices.Protected, static c => ref c.EnableDebugCommand,
            "Clients that may use DEBUG.", Immutable),
        Choice("enable-module-command", "no", ["no", "yes", "local"],
            "Clients that may load modules; this server has no modules.", Immutable | TunesNothing),
    ];
}
