namespace RedisClone.Journal.Rdb;

/// <summary>
/// Values of modules cannot be read, but named: nine letters of six bits and a version make a module type's number.
/// </summary>
internal static class RdbModule
{
    private const string Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    public static bool Refuse(RdbReader reader, RdbType type)
    {
        if (type == RdbType.ModuleOld) return reader.Fail("Pre-release module format not supported");
        return reader.TryLength(out ulong id)
            && reader.Fail($"The RDB file contains module data I can't load: no matching module type '{NameOf(id)}'");
    }

    public static string NameOf(ulong id) => string.Create(9, id >> 10, static (name, bits) =>
    {
        for (int i = 8; i >= 0; i--, bits >>= 6) name[i] = Letters[(int)(bits & 63)];
    });
}
