using System.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Failures;
using RedisClone.Protocol;

namespace RedisClone.Server.Net;

/// <summary>
/// Closes connections whose requests begin like HTTP. A web page can make a browser send HTTP to this port, and a line of its
/// body would run as a command.
/// </summary>
internal sealed class SecurityCheck(ILogger log)
{
    private const long ReportEveryMilliseconds = 60_000;

    private readonly NoticeLimit _reports = new(ReportEveryMilliseconds);

    public static bool IsFromBrowser(in Request request) =>
        Ascii.EqualsIgnoreCase(request[0], "POST"u8) || Ascii.EqualsIgnoreCase(request[0], "Host:"u8);

    public void Report(Session session)
    {
        if (!_reports.TryPass(Environment.TickCount64, out _)) return;
        log.LogWarning(
            "Possible SECURITY ATTACK detected. It looks like somebody is sending POST or Host: commands to Redis. This is likely due to an attacker " +
            "attempting to use Cross Protocol Scripting to compromise your Redis instance. Connection from {Peer} aborted.", session.PeerName);
    }
}
