using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Server.Commands;
using RedisClone.Server.Net;

namespace RedisClone.Server.Acl;

/// <summary>Access control: the users, the check of a command, the login, and the log of refusals.</summary>
internal sealed class AccessControl
{
    private const string TopLevel = "toplevel", InTransaction = "multi", InScript = "lua";

    private readonly ServerCore _server;
    private readonly AccessRules _rules;

    public AccessControl(ServerCore server)
    {
        _server = server;
        _rules = new AccessRules(server.Commands) { AllChannelsByDefault = server.Config.AclPubsubAllChannels };
        Users = new UserTable(server, _rules);
        Log = new AccessLog(server.Config);
    }

    public UserTable Users { get; }

    internal AccessLog Log { get; }

    /// <summary>acl-pubsub-default changed: what follows goes by it.</summary>
    public void Adapt() => _rules.AllChannelsByDefault = _server.Config.AclPubsubAllChannels;

    /// <summary>The error that refuses a client's command, or null. Asked only for users that are restricted in some way.</summary>
    public string? Refuse(Session session, CommandRow row, in Request request)
    {
        Denial denial = session.User.Check(row, request);
        if (denial.IsAllowed) return null;
        Note(denial, session, session.Transaction is null ? TopLevel : InTransaction, session.User, row, request);
        return "NOPERM " + denial.Message(session.User, row);
    }

    /// <summary>The same for a command that was queued since MULTI: the rules may have changed.</summary>
    public string? RefuseQueued(Session session, CommandRow row, in Request request)
    {
        Denial denial = session.User.Check(row, request);
        if (denial.IsAllowed) return null;
        Note(denial, session, InTransaction, session.User, row, request);
        return denial.MessageInExec();
    }

    /// <summary>The same for a command that a script of this client calls.</summary>
    public string? RefuseInScript(Session caller, CommandRow row, in Request request)
    {
        Denial denial = caller.User.Check(row, request);
        if (denial.IsAllowed) return null;
        Note(denial, caller, InScript, caller.User, row, request);
        return "ERR ACL failure in script: " + denial.Message(caller.User, row);
    }

    /// <summary>Makes the client act for a user if the password is right. The command is the one that asks, as it was written.</summary>
    public bool LogIn(Session session, ReadOnlySpan<byte> name, ReadOnlySpan<byte> password, ReadOnlySpan<byte> command)
    {
        // An unknown name takes as long as a wrong password.
        User? user = Users.Find(name);
        if (user is null ? AccessText.AnyIs([], password) : user.Accepts(password))
        {
            session.User = user!;
            session.Authenticated = true;
            return true;
        }
        _server.Statistics.Count(RareEvent.DeniedAuthentication);
        string context = session.Transaction is null && !session.InTransaction ? TopLevel : InTransaction;
        Log.Add(session, DenialReason.Login, context, command.ToArray(), AccessText.Of(name));
        return false;
    }

    /// <summary>Loads the users of the configuration or of the ACL file; returns null, or why the server must not start.</summary>
    public string? LoadAtStart()
    {
        ServerConfig config = _server.Config;
        if (config.AclFile.Length == 0) return LoadFromConfiguration(config.Users);
        if (config.Users.Count > 0)
            return "Configuring Redis with users defined in redis.conf and at the same setting an ACL file path is invalid. This setup is very likely to lead " +
                "to configuration errors and security holes, please define either an ACL file or declare users directly in your redis.conf, but not both.";
        return LoadFile(author: null) is { } errors ? $"Aborting Redis startup because of ACL errors: {errors}" : null;
    }

    /// <summary>Takes over what the ACL file says, if it is right as a whole; null, or what is wrong with it.</summary>
    internal string? LoadFile(Session? author)
    {
        var file = new AclFile(_rules, _server.Config.PathOf(_server.Config.AclFile), _server.Config.AclFile);
        if (file.Read() is { } errors) return errors;
        Users.Replace(file.Users, author);
        return null;
    }

    /// <summary>Writes the ACL file; null, or why it could not be.</summary>
    internal string? SaveFile() => AclFile.Write(_server.Config.PathOf(_server.Config.AclFile), Users.Lines());

    private string? LoadFromConfiguration(IEnumerable<ConfigDirective> lines)
    {
        foreach (ConfigDirective line in lines)
        {
            // The words once more as bytes: a name or a pattern need not be text.
            string[] words = Array.ConvertAll(InlineSplitter.Split(AccessText.Bytes(line.Text))!, word => AccessText.Of(word));
            string name = words[1];
            if (AccessText.HasBlanks(name)) return "Spaces not allowed in ACL usernames";
            if (Users.Set(name, ["reset", .. words[2..]], author: null) is { } error) return $"Error loading ACL rules for the user named '{ConfigText.FromLine(name)}': {error}";
        }
        return null;
    }

    private void Note(Denial denial, Session client, string context, User user, CommandRow row, in Request request)
    {
        _server.Statistics.Count(denial.Counter);
        Log.Add(client, denial.Reason, context, denial.Object(row, request), user.Name);
    }
}
