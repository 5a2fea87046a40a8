using RedisClone.Engine.Acl;
using RedisClone.Engine.Clients;

namespace RedisClone.Engine.Commands.Clients;

/// <summary>CLIENT KILL: closes the client with an address, or all clients that meet all conditions.</summary>
internal static class ClientKill
{
    public static void Run(ref CommandContext c)
    {
        var filter = new Filter();
        bool oldForm = c.Args.Count == 3;
        if (oldForm)
        {
            filter.Address = c.Text(2);
            filter.SkipMe = false;
        }
        else if (!filter.Read(ref c))
        {
            return;
        }

        long killed = 0;
        bool self = false;
        foreach (Session session in c.Clients.Sessions.All)
        {
            if (!filter.Matches(session, c.Session, c.Now)) continue;
            killed++;
            if (session == c.Session) self = true;
            else session.Connection!.Kill();
        }

        if (!oldForm) c.Reply.Integer(killed);
        else if (killed > 0) c.Reply.Ok();
        else c.Fail("ERR No such client");
        // The reply of this command is sent before the connection closes.
        if (self) c.Session.CloseAfterReply = true;
    }

    private sealed class Filter
    {
        private string? _localAddress;
        private User? _user;
        private Func<Session, bool>? _isOfType;
        private long _id;
        private long _maxAge;

        public string? Address { get; set; }

        public bool SkipMe { get; set; } = true;

        public bool Read(ref CommandContext c)
        {
            for (int i = 2; i < c.Args.Count && !c.Failed; i += 2)
            {
                if (i + 1 == c.Args.Count) return c.FailSyntax();
                if (c.Is(i, "id"u8)) _id = c.Int64(i + 1, 1, long.MaxValue, "ERR client-id should be greater than 0");
                else if (c.Is(i, "maxage"u8)) ReadMaxAge(ref c, i + 1);
                else if (c.Is(i, "type"u8)) ReadType(ref c, i + 1);
                else if (c.Is(i, "addr"u8)) Address = c.Text(i + 1);
                else if (c.Is(i, "laddr"u8)) _localAddress = c.Text(i + 1);
                else if (c.Is(i, "user"u8)) ReadUser(ref c, i + 1);
                else if (c.Is(i, "skipme"u8)) ReadSkipMe(ref c, i + 1);
                else c.FailSyntax();
            }
            return !c.Failed;
        }

        public bool Matches(Session session, Session self, long now) =>
            (Address is null || session.PeerName == Address)
            && (_localAddress is null || session.LocalName == _localAddress)
            && (_isOfType is null || _isOfType(session))
            && (_id == 0 || session.Id == _id)
            && (_user is null || session.User == _user)
            && !(SkipMe && session == self)
            && (_maxAge == 0 || now / 1000 - session.CreatedAt / 1000 >= _maxAge);

        private void ReadMaxAge(ref CommandContext c, int argument)
        {
            _maxAge = c.Int64(argument, "ERR maxage is not an integer or out of range");
            if (!c.Failed && _maxAge <= 0) c.Fail("ERR maxage should be greater than 0");
        }

        private void ReadType(ref CommandContext c, int argument)
        {
            if (ClientCommands.TryType(ref c, argument, out Func<Session, bool> isOfType)) _isOfType = isOfType;
        }

        private void ReadUser(ref CommandContext c, int argument)
        {
            _user = c.Clients.Access.Users.Find(c.Args[argument]);
            if (_user is null) c.Fail($"ERR No such user '{c.Echo(argument)}'");
        }

        private void ReadSkipMe(ref CommandContext c, int argument)
        {
            SkipMe = c.Is(argument, "yes"u8);
            if (!SkipMe && !c.Is(argument, "no"u8)) c.FailSyntax();
        }
    }
}
