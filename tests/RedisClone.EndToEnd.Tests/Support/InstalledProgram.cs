using System.ComponentModel;
using System.Diagnostics;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>Installed programs. A missing program fails the test: tests/run installs all of them.</summary>
internal static class InstalledProgram
{
    public static Process Start(ProcessStartInfo start, string program)
    {
        try
        {
            return Process.Start(start)!;
        }
        catch (Win32Exception e)
        {
            throw new InvalidOperationException($"{program} cannot be started ({e.Message}); tests/run installs what the tests need", e);
        }
    }
}
