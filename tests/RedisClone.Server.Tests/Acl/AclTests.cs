using RedisClone.Server.Tests.Clients;
using RedisClone.Server.Tests.Embedding;

namespace RedisClone.Server.Tests.Acl;

/// <summary>Users: their permissions, the time at which changes take effect, and the commands that report them.</summary>
public sealed class AclTests
{
    private const string NoKey = "NOPERM No permissions to access a key";
    private const string NoChannel = "NOPERM No permissions to access a channel";

    /// <summary>The rules of a user, as ACL LIST shows and ACL SAVE writes them, make the same user again.</summary>
    [Theory]
    [InlineData("%R~* %W~* ~foo", "%RW~* ~foo")]
    [InlineData("~foo %RW~*", "~foo %RW~*")]
    [InlineData("%R~* %W~*", "~*")]
    [InlineData("%R~* ~foo", "%R~* ~foo")]
    public async Task RulesOfKeysCanBeReadAgain(string rules, string described)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.Auto);
        using TestClient client = server.Connect();
        Assert.Equal("OK", client.Run($"ACL SETUSER one reset {rules}"));
        Assert.Equal("OK", client.Run($"ACL SETUSER two reset {described}"));
        string list = client.Run("ACL LIST");
        Assert.Contains($"user one off sanitize-payload {described} resetchannels -@all", list, StringComparison.Ordinal);
        Assert.Contains($"user two off sanitize-payload {described} resetchannels -@all", list, StringComparison.Ordinal);
    }

    [Fact]
    public async Task AUserCanRunOnlyWhatItsRulesAllow()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient admin = server.Connect(), client = server.Connect();
        Assert.Equal("default", client.Run("ACL WHOAMI"));
        Assert.Equal("OK", admin.Run("ACL SETUSER app on >pw ~app:* %R~shared:* +@read +set +client|setname +select|0 +acl|whoami"));
        Assert.Equal("WRONGPASS invalid username-password pair or user is disabled.", client.Run("AUTH app no"));
        Assert.Equal("OK", client.Run("AUTH app pw"));
        Assert.Equal("app", client.Run("ACL WHOAMI"));
        Assert.Equal("OK", client.Run("SET app:1 v"));
        Assert.Equal("nil", client.Run("GET shared:1"));
        Assert.Equal(NoKey, client.Run("SET shared:1 v"));
        Assert.Equal(NoKey, client.Run("MGET app:1 other"));
        Assert.Equal("NOPERM User app has no permissions to run the 'del' command", client.Run("DEL app:1"));
        Assert.Equal("NOPERM User app has no permissions to run the 'client|list' command", client.Run("CLIENT LIST"));
        Assert.Equal("OK", client.Run("CLIENT SETNAME me"));
        Assert.Equal("OK", client.Run("SELECT 0"));
        Assert.Equal("NOPERM User app has no permissions to run the 'select' command", client.Run("SELECT 1"));
        Assert.Contains(" name=me ", admin.Run("CLIENT LIST").Split('\n').Single(l => l.Contains(" user=app ", StringComparison.Ordinal)));
        // A change applies to the next command of clients that are already logged in.
        Assert.Equal("OK", admin.Run("ACL SETUSER app -set"));
        Assert.Equal("NOPERM User app has no permissions to run the 'set' command", client.Run("SET app:1 v"));
        Assert.Equal("RESET", client.Run("RESET"));
        Assert.Equal("default", client.Run("ACL WHOAMI"));
    }

    /// <summary>The log is not part of what clients are charged for. Long keys and names would fill it with gigabytes.</summary>
    [Fact]
    public async Task AnEntryOfTheLogIsSmall()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient admin = server.Connect(), client = server.Connect();
        admin.Run("ACL SETUSER app on >pw ~app:* +@all");
        Assert.Equal("OK", client.Run("AUTH app pw"));
        Assert.Equal("OK", client.Call("CLIENT", "SETNAME", new string('n', 100_000)));
        Assert.Equal(NoKey, client.Call("GET", new string('k', 100_000)));
        client.Call("AUTH", new string('u', 100_000), "pw");
        string log = admin.Run("ACL LOG");
        Assert.Contains("object " + new string('k', 1024), log, StringComparison.Ordinal);
        Assert.InRange(log.Length, 3000, 20_000);
    }

    [Theory]
    [InlineData("SET k v", true, false)]
    [InlineData("SET k v GET", true, true)]
    [InlineData("SET k v IFEQ x", true, true)]
    [InlineData("DELEX k", true, false)]
    [InlineData("DELEX k IFEQ x", true, true)]
    [InlineData("BITFIELD k GET u4 0", false, true)]
    [InlineData("BITFIELD k OVERFLOW SAT GET u4 0 INCRBY u4 0 1", true, true)]
    [InlineData("COPY from k", true, false)]
    [InlineData("EXISTS k", false, false)]
    [InlineData("GETDEL k", true, true)]
    [InlineData("SORT k", false, true)]
    public async Task KeysRequireThePermissionsOfTheAccess(string command, bool writes, bool reads)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        foreach ((string rule, bool writer, bool reader) in new[] { ("%W~k", true, false), ("%R~k", false, true), ("~k", true, true) })
        {
            client.Run($"ACL SETUSER u reset +@all %R~from {rule}");
            bool allowed = (!writes || writer) && (!reads || reader);
            Assert.Equal(allowed ? "OK" : "User u has no permissions to access the 'k' key", client.Run($"ACL DRYRUN u {command}"));
        }
    }

    /// <summary>The words of options are used as values and keys. The server must check the key that the handler uses.</summary>
    [Theory]
    [InlineData("SORT a1 STORE victim BY STORE alpha")]
    [InlineData("SORT a1 STORE victim LIMIT 0 1 BY STORE ASC")]
    [InlineData("SORT a1 STORE a2 STORE victim BY STORE ASC")]
    [InlineData("GEORADIUS ageo 0 0 1 m STORE a2 STORE victim")]
    [InlineData("GEORADIUSBYMEMBER ageo m 1 m STOREDIST victim STORE STORE STORE victim")]
    [InlineData("XREADGROUP COUNT 1 GROUP STREAMS a STREAMS victim >")]
    public async Task TheCheckedKeyIsTheUsedKey(string command)
    {
        const string rights = "on nopass +@all -@dangerous +sort";
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient admin = server.Connect(), client = server.Connect();
        admin.Run("RPUSH a1 1 2");
        admin.Run("GEOADD ageo 0 0 m");
        admin.Run("XGROUP CREATE victim STREAMS 0 MKSTREAM");
        string[][] users = [["~a*", "~STORE"], ["~a*", "%R~victim", "%W~STORE", "(~STORE +get)", "(%W~victim +set)"]];
        foreach (string[] rules in users)
        {
            if (command.StartsWith('X') && rules.Contains("%R~victim")) continue;
            string victim = admin.Run("DUMP victim");
            Assert.Equal("OK", admin.Call(["ACL", "SETUSER", "u", "reset", .. rights.Split(' '), .. rules]));
            Assert.Equal("OK", client.Run("AUTH u any"));
            Assert.Equal(NoKey, client.Run(command));
            Assert.Equal("OK", client.Run("MULTI"));
            Assert.Equal(NoKey, client.Run(command));
            Assert.StartsWith("EXECABORT", client.Run("EXEC"), StringComparison.Ordinal);
            string script = $"return redis.pcall('{command.Replace(" ", "','", StringComparison.Ordinal)}').err";
            Assert.Contains("No permissions to access a key", client.Call("EVAL", script, "0"), StringComparison.Ordinal);
            // EXEC checks the commands again that were allowed when they were queued.
            Assert.Equal("OK", admin.Run("ACL SETUSER u allkeys"));
            Assert.Equal("OK", client.Run("MULTI"));
            Assert.Equal("QUEUED", client.Run(command));
            Assert.Equal("OK", admin.Run("ACL SETUSER u resetkeys ~a*"));
            Assert.Contains("NOPERM", client.Run("EXEC"), StringComparison.Ordinal);
            Assert.Equal(victim, admin.Run("DUMP victim"));
        }
    }

    [Fact]
    public async Task SelectorsAreNotCombined()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient admin = server.Connect(), client = server.Connect();
        Assert.Equal("OK", admin.Call("ACL", "SETUSER", "u", "on", "nopass", "(%R~r +@all)", "(%W~w", "+@all)"));
        Assert.Equal("OK", client.Run("AUTH u any"));
        Assert.Equal("1", client.Run("LPUSH w 1"));
        Assert.Equal("nil", client.Run("GET r"));
        Assert.Equal(NoKey, client.Run("COPY r w"));
        Assert.Equal("OK", admin.Run("ACL SETUSER u clearselectors"));
        Assert.Equal("NOPERM User u has no permissions to run the 'get' command", client.Run("GET r"));
        Assert.Equal("ERR Unmatched parenthesis in acl selector starting at '(+get'.", admin.Run("ACL SETUSER u (+get ~k"));
        Assert.Equal("ERR Error in ACL SETUSER modifier '(nonsense)': Syntax error", admin.Run("ACL SETUSER u (nonsense)"));
    }

    [Theory]
    [InlineData("+get +set -get", "-@all +set -get")]
    [InlineData("+config|get +config", "-@all +config")]
    [InlineData("+@hash -@slow +@hash", "-@all -@slow +@hash")]
    [InlineData("-get +@all", "+@all")]
    [InlineData("+@all -@dangerous +select|0 +select|1", "+@all -@dangerous +select|0 +select|1")]
    [InlineData("+GeT +@HASH", "-@all +get +@hash")]
    public async Task RulesAreReportedInTheirShortestForm(string rules, string reported)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal("OK", client.Run($"ACL SETUSER u {rules}"));
        Assert.Equal(
            $"[user default on nopass sanitize-payload ~* &* +@all, user u off sanitize-payload resetchannels {reported}]"
                .Replace(", ", " ", StringComparison.Ordinal),
            client.Run("ACL LIST"));
        // The reported rules create the same user again.
        string line = client.Run("ACL LIST");
        Assert.Equal("OK", client.Run($"ACL SETUSER u reset {reported}"));
        Assert.Equal(line, client.Run("ACL LIST"));
    }

    [Theory]
    [InlineData("+nosuch", "Unknown command or category name in ACL")]
    [InlineData("+@nosuch", "Unknown command or category name in ACL")]
    [InlineData("+config|nosuch", "Unknown command or category name in ACL")]
    [InlineData("-select|0", "Unknown command or category name in ACL")]
    [InlineData("+config|get|x", "Allowing first-arg of a subcommand is not supported")]
    [InlineData("+select|", "Syntax error")]
    [InlineData("+select|a\tb", "Syntax error")]
    [InlineData("%X~k", "Syntax error")]
    [InlineData("%RR~k", "Syntax error")]
    [InlineData("%R", "Syntax error")]
    [InlineData("what", "Syntax error")]
    [InlineData("#12", "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")]
    [InlineData("<pw", "The password you are trying to remove from the user does not exist")]
    [InlineData(
        "allkeys ~k",
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. " +
        "Try 'resetkeys' to start with an empty list of patterns")]
    [InlineData(
        "allchannels &c",
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. " +
        "Try 'resetchannels' to start with an empty list of channels")]
    public async Task AnInvalidRuleChangesNothing(string rules, string reason)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal($"ERR Error in ACL SETUSER modifier '{rules.Split(' ')[^1]}': {reason}", client.Run($"ACL SETUSER u on +get {rules}"));
        Assert.Equal("nil", client.Run("ACL GETUSER u"));
    }

    [Fact]
    public async Task QueuedCommandsAreCheckedTwice()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient admin = server.Connect(), client = server.Connect();
        admin.Run("ACL SETUSER u on nopass ~* +@all -incr");
        client.Run("AUTH u x");
        client.Run("MULTI");
        Assert.Equal("NOPERM User u has no permissions to run the 'incr' command", client.Run("INCR k"));
        Assert.Equal("EXECABORT Transaction discarded because of previous errors.", client.Run("EXEC"));
        client.Run("MULTI");
        Assert.Equal("QUEUED", client.Run("SET a 1"));
        Assert.Equal("QUEUED", client.Run("SET b 1"));
        admin.Run("ACL SETUSER u resetkeys ~b");
        Assert.Equal(
            "[NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the " +
            "following reason: no permission to touch the specified keys OK]", client.Run("EXEC"));
        Assert.Equal("nil", admin.Run("GET a"));
        string entry = admin.Run("ACL LOG 1");
        Assert.Contains("reason key context multi object a username u", entry);
        Assert.Contains(" cmd=exec ", entry);
    }

    [Fact]
    public async Task ScriptsHaveThePermissionsOfTheirCaller()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient admin = server.Connect(), client = server.Connect();
        admin.Run("ACL SETUSER u on nopass ~a +eval +get");
        client.Run("AUTH u x");
        Assert.Equal("nil", client.Call("EVAL", "return redis.call('get','a')", "0"));
        Assert.StartsWith("ERR ACL failure in script: No permissions to access a key", client.Call("EVAL", "return redis.call('get','b')", "0"));
        Assert.StartsWith(
            "ERR ACL failure in script: User u has no permissions to run the 'set' command",
            client.Call("EVAL", "return redis.call('set','a','1')", "0"));
        Assert.Equal("[1 nil]", client.Call("EVAL", "return {redis.acl_check_cmd('get','a'), redis.acl_check_cmd('set','a','1')}", "0"));
        Assert.Equal("1", client.Call("EVAL", "local e = redis.pcall('get','b') return string.find(e.err, 'ACL failure') ~= nil", "0"));
        Assert.Contains("context lua object set username u", admin.Run("ACL LOG"));
        Assert.Contains(" cmd=eval ", admin.Run("ACL LOG"));
        // The next caller has other permissions.
        Assert.Equal("OK", admin.Call("EVAL", "return redis.call('set','b','1')", "0"));
    }

    [Fact]
    public async Task ABlockedClientIsCheckedAgainWhenItIsServed()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient admin = server.Connect(), client = server.Connect();
        admin.Run("ACL SETUSER u on nopass allkeys +@all");
        client.Run("AUTH u x");
        client.Send("BLPOP", "list", "0");
        await admin.UntilAsync("INFO clients", text => text.Contains("blocked_clients:1\r\n"));
        admin.Run("ACL SETUSER u resetkeys");
        Assert.Equal("1", admin.Run("LPUSH list x"));
        Assert.Equal(NoKey, client.Read());
        Assert.Equal("1", admin.Run("LLEN list"));
        Assert.Contains("cmdstat_blpop:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0", admin.Run("INFO commandstats"));
    }

    [Theory]
    [InlineData("SUBSCRIBE news:1", "PUBLISH news:1 hi")]
    [InlineData("SSUBSCRIBE news:1", "SPUBLISH news:1 hi")]
    [InlineData("PSUBSCRIBE news:*", "PUBLISH news:1 hi")]
    public async Task SubscribersAreDisconnectedWhenTheyLoseTheirChannels(string subscribe, string publish)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient admin = server.Connect(), client = server.Connect();
        admin.Run("ACL SETUSER u on nopass +@all &news:*");
        client.Run("AUTH u x");
        Assert.Equal(NoChannel, client.Run(subscribe.Replace("news", "secret", StringComparison.Ordinal)));
        Assert.StartsWith("[", client.Run(subscribe));
        admin.Run("ACL SETUSER u &more");
        Assert.Equal("1", admin.Run(publish));
        client.Read();
        admin.Run("ACL SETUSER u resetchannels &more");
        Assert.Equal("", client.ReadToEnd());
        Assert.DoesNotContain("user=u", admin.Run("CLIENT LIST"));
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task ClientsOfADeletedUserAreDisconnected(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient admin = server.Connect(), client = server.Connect(), self = server.Connect();
        admin.Run("ACL SETUSER u on nopass ~* +@all");
        client.Run("AUTH u x");
        self.Run("AUTH u x");
        // The client gets the reply to its own DELUSER. The server does not run the command after it.
        self.SendRaw(TestClient.Encode("ACL", "DELUSER", "u", "nobody") + TestClient.Encode("SET", "k", "v"));
        Assert.Equal("1", self.Read());
        Assert.Equal("", self.ReadToEnd());
        Assert.Equal("", client.ReadToEnd());
        Assert.Equal("nil", admin.Run("GET k"));
        Assert.Equal("[default]", admin.Run("ACL USERS"));
        Assert.Equal("ERR The 'default' user cannot be removed", admin.Run("ACL DELUSER u default"));
    }

    [Fact]
    public async Task SortByOtherKeysRequiresPermissionToReadAllKeys()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Run("LPUSH l 1");
        client.Run("ACL SETUSER u on nopass +sort ~l ~v*");
        client.Run("ACL SETUSER all on nopass (+sort ~l %R~*) +acl");
        client.Run("AUTH u x");
        Assert.Equal("ERR BY option of SORT denied due to insufficient ACL permissions.", client.Run("SORT l BY v*"));
        Assert.Equal("ERR GET option of SORT denied due to insufficient ACL permissions.", client.Run("SORT l GET v*"));
        Assert.Equal("[1]", client.Run("SORT l BY nosort"));
        client.Run("AUTH all x");
        Assert.Equal("[nil]", client.Run("SORT l BY v* GET v*"));
    }

    [Fact]
    public async Task TheLogGroupsSimilarEntries()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        for (int i = 0; i < 3; i++) client.Run("AUTH nobody wrong");
        client.Run("HELLO 2 AUTH nobody wrong");
        string log = client.Run("ACL LOG");
        Assert.Contains("count 3 reason auth context toplevel object AUTH username nobody", log);
        Assert.Contains("count 1 reason auth context toplevel object HELLO username nobody", log);
        Assert.Contains("acl_access_denied_auth:4\r\n", client.Run("INFO stats"));
        client.Run("CONFIG SET acllog-max-len 1");
        client.Run("AUTH another wrong");
        Assert.DoesNotContain("nobody", client.Run("ACL LOG"));
        Assert.Equal("OK", client.Run("ACL LOG RESET"));
        Assert.Equal("[]", client.Run("ACL LOG"));
        client.Run("CONFIG SET acllog-max-len 0");
        client.Run("AUTH another wrong");
        Assert.Equal("[]", client.Run("ACL LOG"));
    }

    [Fact]
    public async Task SelectorThatAFileCouldNotHoldIsRefused()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Contains("Syntax error", client.Call("ACL", "SETUSER", "u", "(~a) +get)"));
        Assert.Equal("OK", client.Call("ACL", "SETUSER", "u", "(~a[)] +get)"));
    }

    [Fact]
    public async Task PasswordsAreStoredAsDigestsAndNeverShown()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Run("CONFIG SET slowlog-log-slower-than 0");
        client.Run("ACL SETUSER u on >tops3cret +@all ~*");
        client.Run("AUTH u tops3cret");
        client.Run("HELLO 2 AUTH u tops3cret");
        client.Run("ACL DRYRUN u AUTH u tops3cret");
        client.Run("COMMAND GETKEYS MIGRATE 127.0.0.1 1 k 0 1 AUTH tops3cret");
        client.Run("CONFIG SET requirepas tops3cret");
        Assert.DoesNotContain("tops3cret", client.Run("SLOWLOG GET 100"));
        Assert.DoesNotContain("tops3cret", client.Run("ACL GETUSER u") + client.Run("ACL LIST"));
        string hash = Convert.ToHexStringLower(System.Security.Cryptography.SHA256.HashData("tops3cret"u8));
        Assert.Contains($"passwords [{hash}]", client.Run("ACL GETUSER u"));
        client.Run($"ACL SETUSER u !{hash} #{new string('a', 64)}");
        Assert.StartsWith("WRONGPASS", client.Run("AUTH u tops3cret"));
        Assert.Equal(64, client.Run("ACL GENPASS").Length);
        Assert.Equal(2, client.Run("ACL GENPASS 5").Length);
        Assert.StartsWith("ERR ACL GENPASS argument must be the number of bits", client.Run("ACL GENPASS 4097"));
    }

    [Fact]
    public async Task RequirepassIsThePasswordOfTheDefaultUser()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, config => config.RequirePass = "one");
        using TestClient client = server.Connect();
        Assert.Equal("OK", client.Run("AUTH one"));
        Assert.Equal("OK", client.Run("CONFIG SET requirepass two"));
        using TestClient next = server.Connect();
        Assert.StartsWith("WRONGPASS", next.Run("AUTH one"));
        Assert.Equal("OK", next.Run("AUTH default two"));
        Assert.Equal("OK", client.Call("CONFIG", "SET", "requirepass", ""));
        using TestClient free = server.Connect();
        Assert.Equal("PONG", free.Run("PING"));
        Assert.Equal("OK", client.Run("ACL SETUSER default off"));
        using TestClient late = server.Connect();
        Assert.Equal("NOAUTH Authentication required.", late.Run("PING"));
    }

    [Fact]
    public async Task NamesAndPatternsAreByteStrings()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal("OK", client.Run("ACL SETUSER \u00ff on >\u00fe ~\u00fd* +get +acl|whoami"));
        Assert.StartsWith("WRONGPASS", client.Run("AUTH \u00fe \u00fe"));
        Assert.StartsWith("WRONGPASS", client.Run("AUTH \u00ff \u00ff"));
        Assert.Equal("OK", client.Run("AUTH \u00ff \u00fe"));
        Assert.Equal("\u00ff", client.Run("ACL WHOAMI"));
        Assert.Equal("nil", client.Run("GET \u00fd1"));
        Assert.Equal(NoKey, client.Run("GET \u00fc1"));
    }
}
