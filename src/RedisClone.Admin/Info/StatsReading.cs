using RedisClone.Engine;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Info;

/// <summary>The counters of all threads, and the rates and times that follow from them.</summary>
internal sealed class StatsReading
{
    public StatsReading(ServerReading reading)
    {
        Sampler sampler = reading.Server.Sampler;
        Totals = reading.Server.Statistics.Totals;
        (CommandsPerSecond, InputPerSecond, OutputPerSecond, RoundsPerSecond) = sampler.Rates();
        long commandTicks = 0;
        foreach (CommandReading command in reading.Commands) commandTicks += command.Counters.Ticks;
        CommandMicroseconds = ServerCore.Microseconds(commandTicks);
        RoundMicroseconds = ServerCore.Microseconds(sampler.RoundTicks);
        Cycles = Totals.Reads + sampler.Rounds;
    }

    public LaneTotals Totals { get; }

    public double CommandsPerSecond { get; }

    public double InputPerSecond { get; }

    public double OutputPerSecond { get; }

    public double RoundsPerSecond { get; }

    /// <summary>The time that all commands took.</summary>
    public long CommandMicroseconds { get; }

    /// <summary>The time that the rounds of background work took.</summary>
    public long RoundMicroseconds { get; }

    /// <summary>Reads from clients and rounds of background work.</summary>
    public long Cycles { get; }
}
