namespace RedisClone.Compare.Servers;

/// <summary>Processor time in nanoseconds: the exact total, and the sampled times in user mode and in the kernel.</summary>
internal readonly record struct CpuTime(long Total, long User, long System)
{
    public static CpuTime operator -(CpuTime after, CpuTime before) =>
        new(after.Total - before.Total, after.User - before.User, after.System - before.System);

    public double UserShare => User + System == 0 ? 0 : (double)User / (User + System);
}
