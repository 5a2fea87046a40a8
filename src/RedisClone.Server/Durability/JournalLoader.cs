using System.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Reading;
using RedisClone.Server.Commands;
using RedisClone.Server.Shards;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Durability;

/// <summary>
/// Applies what a journal holds, before anybody is served: the same handlers run, over shards that nobody else can hold, and nothing
/// expires while they do, since every expiry is an effect of its own.
/// </summary>
/// <remarks>
/// A command with one key goes to the thread that replays its key's shard, so each shard sees its own in order. Any other is run here, when
/// all that came before it is done. Nobody looks before the end, so the commands of a transaction go their ways one by one: that it is
/// there as a whole, the reader has seen to.
/// </remarks>
internal sealed class JournalLoader : IJournalSink, IDisposable
{
    private readonly ServerCore _server;
    private readonly LoadWorkers<ReplayBatch> _workers;
    private readonly ReplayRun _run;
    private readonly ReplayBatch _alone = new();
    private SnapshotLoader? _snapshot;

    public JournalLoader(ServerCore server)
    {
        _server = server;
        _run = new ReplayRun(server);
        _workers = new LoadWorkers<ReplayBatch>("replay", () => new ReplayRun(server).Run);
        server.ExpiryEnabled = false;
    }

    /// <summary>How far the reading of a base is, 0 when none is read.</summary>
    public long SnapshotOffset => Volatile.Read(ref _snapshot)?.Offset ?? 0;

    string? IJournalSink.LoadSnapshot(IDiskFile file, string name, out long end, out long lsn)
    {
        SnapshotLoader loader = _snapshot = new SnapshotLoader(_server, keepExpired: true);
        string? error = loader.Load(file, out end);
        _snapshot = null;
        lsn = loader.Lsn;
        if (error is null) _server.Log.LogInformation("{File}: {Keys} keys loaded", name, loader.Loaded);
        return error;
    }

    string? IJournalSink.Apply(in JournalUnit unit)
    {
        if (_server.Loading is { IsCancelled: true }) return "the server is to end";
        for (int i = 0; i < unit.Count; i++)
            if (Apply(unit[i]) is { } error) return error;
        return null;
    }

    string? IJournalSink.Complete() => _workers.Settle();

    public void Dispose()
    {
        _workers.Dispose();
        _server.ExpiryEnabled = true;
    }

    private string? Apply(in JournalCommand command)
    {
        if ((uint)command.Database >= (uint)_server.Config.Databases) return $"no database {command.Database}";
        // Only clients are concerned by a command that is renamed or taken away: effects have the names of the table.
        CommandRow? row = _server.Commands.FindEffect(command[0]);
        if (row is { Subcommands.Length: > 0 } && command.Words.Length > 1) row = CommandTable.FindSubcommand(row, command[1]) ?? row;
        if (row is not { Handler: not null } || !row.ArityFits(command.Words.Length))
            return _workers.Settle() ?? $"Unknown command '{Encoding.Latin1.GetString(command[0])}' reading the append only file";
        ulong hash = row.FirstKey > 0 && row.FirstKey < command.Words.Length ? KeyHash.Of(command[row.FirstKey]) : 0;
        if (!row.HasSingleKey) return ApplyAlone(command, row, hash);
        if (_workers.BatchFor(_server.Shards.Of(hash), command.Database, command.Bytes.Length) is not { } batch) return _workers.Settle();
        batch.Add(command, row, hash);
        return null;
    }

    private string? ApplyAlone(in JournalCommand command, CommandRow row, ulong hash)
    {
        if (_workers.Settle() is { } before) return before;
        _alone.Add(command, row, hash);
        string? error = _run.Run(_alone);
        _alone.Clear();
        return error;
    }
}
