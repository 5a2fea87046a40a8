namespace RedisClone.Journal.Disk;

/// <summary>
/// Recognizes the exceptions of an <see cref="IDisk"/> that report a failure of the disk and not a defect of the
/// program.
/// </summary>
public static class DiskFailure
{
    public static bool Is(Exception failure) => failure is IOException or UnauthorizedAccessException;
}
