using System.Globalization;
using RedisClone.Engine.Cluster.State;

namespace RedisClone.Engine.Cluster.SlotMigration;

/// <summary>The states of a slot migration that this server has of those of Redis.</summary>
internal enum SlotTaskState
{
    None,
    Connecting,
    AwaitsReply,
    TakesSnapshot,
    FollowsStream,
    TakesOver,
    WaitsForSnapshot,
    SendsSnapshot,
    SendsStream,
    PausesWrites,
    AwaitsTakeover,
    Completed,
    Failed,
    Canceled,
}

/// <summary>A slot migration as CLUSTER MIGRATION STATUS shows it. The lock of the cluster protects it.</summary>
internal sealed class SlotTask(string id, SlotSet slots, string source, string destination, bool isImport, long now)
{
    public string Id => id;

    public SlotSet Slots => slots;

    /// <summary>The name of the node that serves the slots.</summary>
    public string Source { get; set; } = source;

    /// <summary>The name of the node that imports them.</summary>
    public string Destination => destination;

    public bool IsImport => isImport;

    public SlotTaskState State { get; set; }

    /// <summary>The reason of the last failure, or empty.</summary>
    public string Error { get; set; } = "";

    public long Retries { get; set; }

    public long CreatedAt { get; } = now;

    public long StartedAt { get; set; } = -1;

    public long EndedAt { get; set; } = -1;

    /// <summary>Since when writes are paused; 0 before.</summary>
    public long PausedAt { get; set; }

    /// <summary>For how long writes were paused until the destination took over.</summary>
    public long PauseMilliseconds => !isImport && State == SlotTaskState.Completed ? EndedAt - PausedAt : 0;

    /// <summary>The state by the name that Redis uses.</summary>
    public string StateName => State switch
    {
        SlotTaskState.None => "none",
        SlotTaskState.Connecting => "connecting",
        SlotTaskState.AwaitsReply => "syncslots-reply",
        SlotTaskState.TakesSnapshot => "accumulate-buffer",
        SlotTaskState.FollowsStream => "wait-stream-eof",
        SlotTaskState.TakesOver => "takeover",
        SlotTaskState.WaitsForSnapshot => "wait-bgsave-start",
        SlotTaskState.SendsSnapshot => "send-bulk-and-stream",
        SlotTaskState.SendsStream => "send-stream",
        SlotTaskState.PausesWrites => "handoff-prep",
        SlotTaskState.AwaitsTakeover => "stream-eof",
        SlotTaskState.Completed => "completed",
        SlotTaskState.Canceled => "canceled",
        _ => "failed",
    };

    public string SlotsText => slots.ToText(' ');

    /// <summary>The slots as arguments of a command: pairs of a first and a last slot.</summary>
    public IEnumerable<string> SlotWords => slots.Ranges()
        .SelectMany(static range => new[] { range.First.ToString(CultureInfo.InvariantCulture), range.Last.ToString(CultureInfo.InvariantCulture) });
}
