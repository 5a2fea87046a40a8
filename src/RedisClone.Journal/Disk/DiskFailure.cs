namespace RedisClone.Journal.Disk;

/// <summary>What an <see cref="IDisk"/> throws when the disk, and not the program, is at fault.</summary>
public static class DiskFailure
{
    public static bool Is(Exception failure) => failure is IOException or UnauthorizedAccessException;
}
