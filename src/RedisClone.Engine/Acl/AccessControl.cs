using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Metrics;
using RedisClone.Protocol;

namespace RedisClone.Engine.Acl;

/// <summary>Access control: the users, the check of a command, the login, and the log of refusals.</summary>
internal sealed class AccessControl
{
    private const string TopLevel = "toplevel", InTransaction = "multi", InScript = "lua";

    private readonly ServerCore _server;
    private readonly AccessRules _rules;
    private readonly Lock _saving = new();

    public AccessControl(ServerCore server)
    {
        _server = server;
        _rules = new AccessRules(server.Commands) { AllChannelsByDefault = server.Config.AclPubsubAllChannels };
        Users = new UserTable(server, _rules);
        Log = new AccessLog(server.Config);
    }

    public UserTable Users { get; }

    internal AccessLog Log { get; }

    /// <summary>Applies a changed acl-pubsub-default to users and selectors that are created later.</summary>
    public void Adapt() => _rules.AllChannelsByDefault = _server.Config.AclPubsubAllChannels;

    /// <summary>Returns the error that refuses a client's command, or null. Called only for users with restrictions.</summary>
    public string? Refuse(Session session, CommandRow row, in Request request)
    {
        Denial denial = session.User.Check(row, request);
        if (denial.IsAllowed) return null;
        Note(denial, session, session.Transaction is null ? TopLevel : InTransaction, session.User, row, request);
        return "NOPERM " + denial.Message(session.User, row);
    }

    /// <summary>Checks a queued command again with the rights at EXEC: they may have changed since MULTI.</summary>
    public string? RefuseQueued(Session session, Permissions permissions, CommandRow row, in Request request)
    {
        Denial denial = permissions.Check(row, request);
        if (denial.IsAllowed) return null;
        Note(denial, session, InTransaction, session.User, row, request);
        return denial.MessageInExec();
    }

    /// <summary>Checks a command that is called by a script of this client, which had these rights when the script began.</summary>
    public string? RefuseInScript(Session caller, Permissions permissions, CommandRow row, in Request request)
    {
        Denial denial = permissions.Check(row, request);
        if (denial.IsAllowed) return null;
        Note(denial, caller, InScript, caller.User, row, request);
        return "ERR ACL failure in script: " + denial.Message(caller.User, row);
    }

    /// <summary>Authenticates the client as a user if the password is correct.</summary>
    /// <param name="session">The client.</param>
    /// <param name="name">The user's name.</param>
    /// <param name="password">The password that the client sent.</param>
    /// <param name="command">The name of the authenticating command as the client wrote it, for the ACL log.</param>
    public bool LogIn(Session session, ReadOnlySpan<byte> name, ReadOnlySpan<byte> password, ReadOnlySpan<byte> command)
    {
        // The check of an unknown name takes as long as that of a wrong password.
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

    /// <summary>Loads the users from the configuration or from the ACL file.</summary>
    /// <returns>Null, or the reason why the server must not start.</returns>
    public string? LoadAtStart()
    {
        ServerConfig config = _server.Config;
        if (config.AclFile.Length == 0) return LoadFromConfiguration(config.Users);
        if (config.Users.Count > 0)
            return "Configuring Redis with users defined in redis.conf and at the same setting an ACL file path is invalid. " +
                "This setup is very likely to lead to configuration errors and security holes, " +
                "please define either an ACL file or declare users directly in your redis.conf, but not both.";
        return LoadFile(author: null) is { } errors ? $"Aborting Redis startup because of ACL errors: {errors}" : null;
    }

    /// <summary>Replaces the users by those in the ACL file if the whole file is valid.</summary>
    /// <returns>Null, or the errors in the file.</returns>
    internal string? LoadFile(Session? author)
    {
        var file = new AclFile(_rules, _server.Config.PathOf(_server.Config.AclFile), _server.Config.AclFile);
        if (file.Read() is { } errors) return errors;
        Users.Replace(file.Users, author);
        return null;
    }

    /// <summary>Writes the ACL file. Returns null, or the reason for the failure.</summary>
    internal string? SaveFile()
    {
        // Two writers would share the temporary file.
        lock (_saving) return AclFile.Write(_server.Config.PathOf(_server.Config.AclFile), Users.Lines());
    }

    private string? LoadFromConfiguration(IEnumerable<ConfigDirective> lines)
    {
        foreach (ConfigDirective line in lines)
        {
            // The line is split again as bytes, because names and patterns need not be valid UTF-8.
            string[] words = Array.ConvertAll(InlineSplitter.Split(AccessText.Bytes(line.Text))!, word => AccessText.Of(word));
            string name = words[1];
            if (AccessText.HasBlanks(name)) return "Spaces not allowed in ACL usernames";
            if (Users.Set(name, ["reset", .. words[2..]], author: null) is { } error)
                return $"Error loading ACL rules for the user named '{ConfigText.FromLine(name)}': {error}";
        }
        return null;
    }

    private void Note(Denial denial, Session client, string context, User user, CommandRow row, in Request request)
    {
        _server.Statistics.Count(denial.Counter);
        Log.Add(client, denial.Reason, context, denial.Object(row, request), user.Name);
    }
}
