using System.Text;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Failures;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Reading;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Applies the units of effects of a journal before the server accepts clients. It runs the handlers that serve clients, and
/// no other thread can hold a shard. Keys do not expire meanwhile, because each expiry is in the journal as an effect.
/// </summary>
/// <remarks>
/// A command with one key goes to the thread that replays the shard of its key, so each shard sees its commands in order.
/// Every other command runs on the calling thread after all earlier commands are done. The commands of a transaction are
/// distributed one by one: no client can see a part of it, and the reader passes on only complete transactions.
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
        Errors = new ReplayErrors(server.Log);
        _run = new ReplayRun(server, this);
        _workers = new LoadWorkers<ReplayBatch>("replay", () => new ReplayRun(server, this).Run);
        server.ExpiryEnabled = false;
        server.Shards.Budget.LoadsChanged(1);
    }

    public ReplayErrors Errors { get; }

    /// <summary>See <see cref="Clients.Session.IsBase"/>.</summary>
    public bool IsInOwnBase { get; private set; }

    /// <summary>The offset that the reading of a base has reached; 0 while no base is read.</summary>
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
        if (unit.IsOfBase != IsInOwnBase)
        {
            // The workers read the property while they run commands.
            if (_workers.Settle() is { } before) return before;
            IsInOwnBase = unit.IsOfBase;
        }
        for (int i = 0; i < unit.Count; i++)
            if (Apply(unit[i]) is { } error) return error;
        return null;
    }

    string? IJournalSink.Complete() => _workers.Settle();

    public void Dispose()
    {
        _workers.Dispose();
        _server.ExpiryEnabled = true;
        _server.Shards.Budget.LoadsChanged(-1);
    }

    /// <summary>
    /// Makes room in the shards. The thread that reads the journal calls this when it lacks memory. A collection alone does not help if the
    /// shards of commands that ran earlier are sparse.
    /// </summary>
    public void MakeRoom()
    {
        _workers.WaitUntilIdle();
        MemoryReserve.ReleaseAll();
        LoadRoom.MakeHeld(_server);
    }

    private string? Apply(in JournalCommand command)
    {
        if ((uint)command.Database >= (uint)_server.Config.Databases)
            return $"it has database {command.Database}, and 'databases' is {_server.Config.Databases}";
        // Renamed and disabled commands concern clients only. Effects use the names of the command table.
        CommandRow? row = _server.Commands.FindEffect(command[0]);
        if (row is { Subcommands.Length: > 0 } && command.Words.Length > 1) row = CommandTable.FindSubcommand(row, command[1]) ?? row;
        if (row is not { Handler: not null } || !row.ArityFits(command.Words.Length))
            return _workers.Settle() ?? $"Unknown command '{Encoding.Latin1.GetString(command[0])}' reading the append only file";
        if (IsOfConnection(row)) return _workers.Settle() ?? $"'{row.FullName}' reading the append only file: the command is no effect";
        ulong hash = row.FirstKey > 0 && row.FirstKey < command.Words.Length ? _server.Shards.HashOf(command[row.FirstKey]) : 0;
        if (!row.HasSingleKey || LoadRoom.IsLarge(command.Bytes.Length)) return ApplyAlone(command, row, hash);
        return TryAdd(command, row, hash, batch: null) ? null : _workers.Settle();
    }

    /// <summary>
    /// Whether a command is about its connection or the process, such as SUBSCRIBE and SHUTDOWN. redis-server before 7.0 also keeps the loads of
    /// scripts.
    /// </summary>
    private static bool IsOfConnection(CommandRow row) =>
        row.Has(CommandFlags.NoScript) && !row.IsWrite && !row.Has(CommandFlags.RunsScript) && row.Group != "scripting";

    private string? ApplyAlone(in JournalCommand command, CommandRow row, ulong hash)
    {
        if (_workers.Settle() is { } before) return before;
        TryAdd(command, row, hash, _alone);
        string? error = _run.Run(_alone);
        _alone.Clear();
        return error;
    }

    /// <summary>Adds a command to a batch, or else to that of its shard. False if the thread of the shard has failed.</summary>
    private bool TryAdd(in JournalCommand command, CommandRow row, ulong hash, ReplayBatch? batch)
    {
        for (int attempt = 0; ; attempt++)
        {
            try
            {
                ReplayBatch? taken = batch ?? _workers.BatchFor(_server.Shards.Of(hash), command.Database, command.Bytes.Length);
                taken?.Add(command, row, hash);
                return taken is not null;
            }
            catch (OutOfMemoryException) when (MemoryReserve.TryWait(attempt))
            {
                // Nothing was added. The heap is full of garbage and unused space, as it was not when the command ran first.
                MakeRoom();
            }
        }
    }
}
