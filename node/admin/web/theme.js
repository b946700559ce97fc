// Sets the theme before the first paint: the user's last choice, or else the system's preference.
(function () {
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const chosen = () => { try { return localStorage.getItem('ferry-theme'); } catch { return null; } };
  const apply = () => {
    root.dataset.theme = chosen() || (system.matches ? 'dark' : 'light');
    dispatchEvent(new Event('themechange'));
  };
  apply();
  system.addEventListener('change', apply);
  addEventListener('DOMContentLoaded', () => {
    document.getElementById('theme').addEventListener('click', () => {
      const next = root.dataset.theme === 'dark' ? 'light' : 'dark';
      try { localStorage.setItem('ferry-theme', next); } catch { /* private windows have no storage */ }
      root.dataset.theme = next;
      dispatchEvent(new Event('themechange'));
    });
  });
})();
