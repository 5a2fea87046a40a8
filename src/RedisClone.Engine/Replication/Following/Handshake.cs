using System.Globalization;
using Microsoft.Extensions.Logging;
using RedisClone.Configuration;

namespace RedisClone.Engine.Replication.Following;

/// <summary>What a primary offers.</summary>
/// <param name="IsContinue">Whether the stream continues after the offset that was requested. Otherwise a snapshot follows.</param>
/// <param name="History">The name of the primary's history; empty if the primary did not say it.</param>
/// <param name="Offset">The offset of the stream at the snapshot.</param>
internal readonly record struct Offer(bool IsContinue, string History, long Offset);

/// <summary>The dialogue with which a replica introduces itself to its primary.</summary>
internal sealed class Handshake(PrimaryChannel channel, ServerConfig config, ILogger log, CancellationToken end)
{
    /// <summary>Leaves room for any stream, so that no offset overflows.</summary>
    private const long LargestOffset = long.MaxValue / 2;

    /// <summary>Authenticates this server.</summary>
    public async Task LogInAsync()
    {
        string pong = await AskAsync("PING").ConfigureAwait(false);
        bool isDenied = pong.StartsWith("-NOAUTH", StringComparison.Ordinal) || pong.StartsWith("-NOPERM", StringComparison.Ordinal)
            || pong.StartsWith("-ERR operation not permitted", StringComparison.Ordinal);
        if (pong[0] != '+' && !isDenied) throw new IOException($"Error reply to PING from master: '{pong}'");
        if (config.MasterAuth.Length > 0)
        {
            string[] login = config.MasterUser.Length > 0 ? ["AUTH", config.MasterUser, config.MasterAuth] : ["AUTH", config.MasterAuth];
            string answer = await AskAsync(login).ConfigureAwait(false);
            if (answer[0] == '-') throw new IOException($"Unable to AUTH to MASTER: {answer}");
        }
    }

    /// <summary>Introduces this server as a replica.</summary>
    public async Task IntroduceAsync()
    {
        await LogInAsync().ConfigureAwait(false);
        log.LogInformation("Master replied to PING, replication can continue...");
        int port = config.ReplicaAnnouncePort > 0 ? config.ReplicaAnnouncePort : config.TlsReplication && config.TlsPort > 0 ? config.TlsPort : config.Port;
        await ConfigureAsync("listening-port", port.ToString(CultureInfo.InvariantCulture)).ConfigureAwait(false);
        if (config.ReplicaAnnounceIp.Length > 0) await ConfigureAsync("ip-address", config.ReplicaAnnounceIp).ConfigureAwait(false);
        await ConfigureAsync("capa", "eof", "capa", "psync2").ConfigureAwait(false);
    }

    /// <summary>Requests the stream after an offset of a history, or with "?" and -1 a copy of all data.</summary>
    /// <param name="history">The name of the history, or "?".</param>
    /// <param name="from">The next byte of the stream, or -1.</param>
    /// <param name="takesOver">Whether the server, which is a replica, is asked to become the primary.</param>
    public async Task<Offer> RequestAsync(string history, long from, bool takesOver)
    {
        if (history == "?") log.LogInformation("Full resync requested from master");
        else log.LogInformation("Trying a partial resynchronization (request {History}:{Offset}).", history, from);
        string[] request = ["PSYNC", history, from.ToString(CultureInfo.InvariantCulture)];
        string answer = await AskAsync(takesOver ? [.. request, "FAILOVER"] : request).ConfigureAwait(false);
        string[] words = answer.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (words[0] == "+CONTINUE")
        {
            if (history == "?") throw new InvalidDataException("the master continues a stream that was not requested");
            log.LogInformation("Successful partial resynchronization with master.");
            return new Offer(IsContinue: true, words.Length > 1 && words[1].Length == ReplicationHistory.IdLength ? words[1] : "", from - 1);
        }
        if (words is ["+FULLRESYNC", { Length: ReplicationHistory.IdLength } id, var text] && long.TryParse(text, CultureInfo.InvariantCulture, out long offset)
            && offset is >= 0 and <= LargestOffset)
        {
            log.LogInformation("Full resync from master: {History}:{Offset}", id, offset);
            return new Offer(IsContinue: false, id, offset);
        }
        throw new RefusedStreamException(answer);
    }

    private async Task ConfigureAsync(params string[] options)
    {
        string answer = await AskAsync(["REPLCONF", .. options]).ConfigureAwait(false);
        if (answer[0] == '-') log.LogInformation("(Non critical) Master does not understand REPLCONF {Option}: {Answer}", options[0], answer);
    }

    /// <summary>Sends a command and returns the line of its reply.</summary>
    public async Task<string> AskAsync(params string[] words)
    {
        await channel.SendAsync(end, words).ConfigureAwait(false);
        string answer = await channel.ReadLineAsync(end).ConfigureAwait(false);
        return string.IsNullOrWhiteSpace(answer) ? throw new InvalidDataException("the master answers with an empty line") : answer;
    }
}
