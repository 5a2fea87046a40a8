using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>One step through a stream of commands.</summary>
internal struct UnitStep
{
    public Scan Scan;

    /// <summary>The length of a complete step in bytes.</summary>
    public int Length;

    /// <summary>If the step is incomplete: a lower bound of its length in bytes.</summary>
    public long Needed;

    /// <summary>False for an annotation, and for a SELECT between units.</summary>
    public bool IsUnit;

    public bool IsTransaction;

    public int DatabaseBefore;

    public int DatabaseAfter;
}

/// <summary>
/// Steps through commands unit by unit. A step is a single command, MULTI to EXEC, a SELECT or an annotation line.
/// </summary>
internal sealed class UnitScanner
{
    /// <summary>
    /// Redis reads annotations into a buffer of 1024 bytes, including a terminating zero. A longer line fails its
    /// loader.
    /// </summary>
    private const int MaxAnnotation = 1023;

    /// <summary>The commands of the last complete step.</summary>
    public UnitParts Parts { get; } = new();

    public UnitStep Next(ReadOnlySpan<byte> bytes, int database)
    {
        var step = new UnitStep { DatabaseBefore = database, DatabaseAfter = database };
        Parts.Begin(database);
        int position = 0;
        while (true)
        {
            if (position < bytes.Length && bytes[position] == '#')
            {
                int newline = bytes[position..Math.Min(bytes.Length, position + MaxAnnotation)].IndexOf((byte)'\n');
                if (newline < 0)
                {
                    step.Scan = bytes.Length - position < MaxAnnotation ? Scan.Incomplete : Scan.Malformed;
                    step.Needed = bytes.Length + 1;
                    return step;
                }
                position += newline + 1;
                if (!step.IsTransaction) return Done(step, position, isUnit: false);
                continue;
            }
            int start = position;
            Scan scan = RespScanner.Command(
                bytes, ref position, Parts.Words, out StreamCommand command, out int selected, out long needed);
            if (scan != Scan.Complete)
            {
                step.Scan = scan;
                step.Needed = start + needed;
                return step;
            }
            switch (command)
            {
                case StreamCommand.Select:
                    Parts.Select(selected);
                    if (selected >= 0) step.DatabaseAfter = selected;
                    if (!step.IsTransaction) return Done(step, position, isUnit: false);
                    break;
                case StreamCommand.Multi when step.IsTransaction:
                case StreamCommand.Exec when !step.IsTransaction:
                    step.Scan = Scan.Malformed;
                    return step;
                case StreamCommand.Multi:
                    Parts.Pass();
                    step.IsTransaction = true;
                    break;
                case StreamCommand.Exec:
                    Parts.Pass();
                    return Done(step, position, isUnit: true);
                default:
                    Parts.Add(start, position - start);
                    if (!step.IsTransaction) return Done(step, position, isUnit: true);
                    break;
            }
        }
    }

    private static UnitStep Done(UnitStep step, int length, bool isUnit)
    {
        step.Scan = Scan.Complete;
        step.Length = length;
        step.IsUnit = isUnit;
        return step;
    }
}
